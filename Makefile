# The commands of this project are `make run`, `make test` and `make bench`; all they do stands in scripts/.

.PHONY: help run test bench lint fmt clean

help:
	@echo 'make run    build Tillgate and start it on the built-in sandbox (ARGS="..." are passed on)'
	@echo 'make test   everything that CI runs'
	@echo 'make bench  measure the release build and write docs/benchmarks.md (ARGS="--only spine" measures a part)'
	@echo 'make lint   the part of it that runs no test'
	@echo 'make fmt    format all sources'
	@echo 'make clean  remove what was built'

run:
	@scripts/run.sh $(ARGS)

test:
	@scripts/test.sh

bench:
	@scripts/bench.sh $(ARGS)

lint:
	@scripts/test.sh lint

fmt:
	cargo fmt --all
	scripts/ui-packages.sh
	npm --prefix ui run format

clean:
	@scripts/clean.sh
