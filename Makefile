# The commands of this project are `make run`, `make test` and `make bench`; all they do stands in scripts/.

.PHONY: help run dev test audit consensus bench screens package lint fmt clean

help:
	@echo 'make run      build Tillgate and start it on the built-in sandbox (ARGS="..." are passed on)'
	@echo 'make dev      the same, and changes of the sources show at once (ARGS="..." are passed on)'
	@echo 'make test     everything that CI runs (ROOM=payouts runs the tests of one room)'
	@echo 'make audit    look for crates with known faults (asks the network for the list of them)'
	@echo 'make consensus  let Bitcoin Core’s consensus engine judge the sandbox (minutes to build: cmake and boost)'
	@echo 'make bench    measure the release build and write docs/benchmarks.md (ARGS="--only spine" measures a part)'
	@echo 'make screens  draw each screen in four sizes and two themes into screens/'
	@echo 'make package  build the Debian package (scripts/package-check.sh tries it on a clean Debian)'
	@echo 'make lint     the part of it that runs no test'
	@echo 'make fmt      format all sources'
	@echo 'make clean    remove what was built'

run:
	@scripts/run.sh $(ARGS)

dev:
	@scripts/dev.sh $(ARGS)

test:
	@$(if $(ROOM),scripts/test-room.sh $(ROOM),scripts/test.sh)

audit:
	@scripts/audit.sh

consensus:
	@scripts/consensus.sh

bench:
	@scripts/bench.sh $(ARGS)

screens:
	@scripts/screens.sh

package:
	@scripts/package.sh $(ARGS)

lint:
	@scripts/test.sh lint

fmt:
	cargo fmt --all
	scripts/ui-packages.sh
	npm --prefix ui run format

clean:
	@scripts/clean.sh
