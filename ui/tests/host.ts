// A host for tests of screens. It returns the replies that a test sets, and knows no rule of the gateway.
import type { Command, CommandError } from "../src/lib/bindings";
import type {
  Answers,
  CommandName,
  HostEvent,
  Running,
  ShellAct,
  ShellActs,
  Transport,
} from "../src/lib/host";
import type { Environment } from "../src/lib/state/environment.svelte";
import { backups, limits, production, settings, status, takings, wallet } from "./fixture";

type Answer<N extends CommandName> = Answers[N] | CommandError;
type Reply<N extends CommandName> = Answer<N> | ((command: never) => Answer<N> | Promise<Answer<N>>);

/** A host for both environments that answers with set replies and records all commands. */
export class FixtureHost implements Transport {
  /** The commands to the test environment. */
  readonly asked: Command[] = [];
  /** The answer of an act, if a test delays it. */
  saved: Promise<{ file: string | null }> | undefined;
  /** The commands to the production environment. */
  readonly askedOfProduction: Command[] = [];
  readonly acts: ShellAct[] = [];
  /** All acts, also `shown`, each with its environment. */
  readonly actsIn: string[] = [];
  /** The fields of the acts that have some. */
  readonly fields: unknown[] = [];
  readonly #replies = { test: new Map<CommandName, unknown>(), production: new Map<CommandName, unknown>() };
  readonly #listeners = new Map<HostEvent, Set<(named?: string) => void>>();

  constructor() {
    for (const environment of ["test", "production"] as const) {
      this.replyIn(environment, "status", environment === "test" ? status : production);
      this.replyIn(environment, "showTakings", takings({ paymentsCount: 0 }));
      this.replyIn(environment, "listPayments", { items: [], itemsCount: 0, sums: null });
      this.replyIn(environment, "listNews", { items: [], notices: [], sounds: [] });
      this.replyIn(environment, "listKeys", { items: [], itemsCount: 0 });
      this.replyIn(environment, "listAnomalies", { items: [], itemsCount: 0 });
      this.replyIn(environment, "listPayouts", { items: [], itemsCount: 0 });
      this.replyIn(environment, "showLimits", limits);
      this.replyIn(environment, "listSettings", settings());
      this.replyIn(environment, "showBackups", backups());
      this.replyIn(environment, "showRestore", { restore: null });
      this.replyIn(environment, "walletInfo", wallet());
      this.replyIn(environment, "listWaitingSales", []);
      this.replyIn(environment, "listProducts", []);
      this.replyIn(environment, "showSmallSales", { upTo: null, obstacle: null, isServerForeign: false });
    }
  }

  /** Sets the reply of the test environment. */
  reply<N extends CommandName>(command: N, reply: Reply<N>): void {
    this.replyIn("test", command, reply);
  }

  replyIn<N extends CommandName>(environment: Environment, command: N, reply: Reply<N>): void {
    this.#replies[environment].set(command, reply);
  }

  async call<N extends CommandName>(
    environment: Environment,
    command: Extract<Command, { command: N }>,
  ): Promise<Answers[N]> {
    (environment === "test" ? this.asked : this.askedOfProduction).push(command);
    const reply = this.#replies[environment].get(command.command);
    const answer: unknown =
      typeof reply === "function" ? await (reply as (c: unknown) => unknown)(command) : reply;
    if (answer === undefined || (answer as Partial<CommandError>).errorType !== undefined) {
      throw answer ?? { errorType: "NO_REPLY", message: `no reply for ${command.command}`, field: null };
    }
    return answer as Answers[N];
  }

  async shell<A extends ShellAct>(
    act: A,
    environment: Environment,
    fields?: ShellActs[A][0],
  ): Promise<ShellActs[A][1]> {
    if (act !== "shown") this.acts.push(act);
    this.actsIn.push(`${act} ${environment}`);
    if (fields && act !== "shown") this.fields.push(fields);
    return (await this.saved) ?? { file: "/home/ann/Downloads/tillgate-test-payments.csv" };
  }

  async running(): Promise<Running> {
    return { environments: ["test", "production"], first: "test" };
  }

  on(event: HostEvent, heard: (named?: string) => void): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(heard));
    return () => listeners.delete(heard);
  }

  emit(event: HostEvent, named = "test"): void {
    for (const heard of this.#listeners.get(event) ?? []) heard(named);
  }

  /** The recorded calls of one command in the test environment. */
  askedFor<N extends CommandName>(command: N): Extract<Command, { command: N }>[] {
    return this.asked.filter((one): one is Extract<Command, { command: N }> => one.command === command);
  }

  /** The recorded calls of one command in production. */
  askedOfProductionFor<N extends CommandName>(command: N): Extract<Command, { command: N }>[] {
    return this.askedOfProduction.filter(
      (one): one is Extract<Command, { command: N }> => one.command === command,
    );
  }
}
