// The only access to the gateways. The rest of the panel knows commands and answers, but no transport.
import type {
  ActsSheet,
  Answers,
  BooksSheet,
  Command,
  CommandError,
  PaymentsSheet,
  Statement,
  StatusView,
} from "../bindings";
import { withSumsInLocale } from "../language/sums";
import type { Note } from "../news";
import type { TrayWords } from "../tray";
import { onArrival, shown, type Environment } from "../state/environment.svelte";

export type { Answers };

export type CommandName = Command["command"];

/**
 * Events that the desktop program sends. `changed`: data of an environment has changed. `no-tray`: a person closed the
 * window, but the desktop has no tray. `screen`: a person wants to see a screen, named as in the URL. `customer-closed`:
 * the customer's window was closed. `sound`: an event of the named kind has a sound. `news`: new events, as JSON, that the
 * desktop shall show. `saving`: so many rows of a file were written.
 */
export type HostEvent = "changed" | "no-tray" | "screen" | "customer-closed" | "sound" | "news" | "saving";

/**
 * The commands to the desktop program, each with its fields and its answer.
 *
 * - `quit` and `hide` concern the window.
 * - `reopen` starts an environment's gateway again. `shown` reports the environment that the window shows,
 *   and the words of the tray and the title.
 * - `customer-view` opens the customer's window, on another monitor if there is one. `customer-close` closes it.
 * - `notify` shows a notification of the desktop.
 * - `save-payments`, `save-takings`, `save-statement` and `save-acts` save a list in the folder for downloads. These
 *   are the payments that match, the takings of a period, the movements of the balance, and the log of acts. A list is
 *   a table for spreadsheets, and a statement may be JSON. `name` is the file's name. `stop-saving` breaks the saving
 *   off; the answer then names no file.
 * - `open-page` opens the customer's page of a payment in the browser. `mail-page` begins a mail with its address.
 */
export interface ShellActs {
  quit: [undefined, unknown];
  hide: [undefined, unknown];
  reopen: [undefined, unknown];
  shown: [{ words: TrayWords }, unknown];
  "customer-view": [undefined, unknown];
  "customer-close": [undefined, unknown];
  notify: [Note, unknown];
  "save-payments": [Omit<PaymentsSheet, "after" | "locale">, { file: string | null }];
  "save-takings": [Omit<BooksSheet, "locale"> & { name: string }, { file: string | null }];
  "save-statement": [
    Omit<Statement, "after" | "limit"> & { name: string; form: "csv" | "json" },
    { file: string | null },
  ];
  "save-acts": [Omit<ActsSheet, "locale">, { file: string | null }];
  "stop-saving": [undefined, unknown];
  "open-page": [{ paymentId: string }, unknown];
  "mail-page": [{ paymentId: string }, unknown];
}

export type ShellAct = keyof ShellActs;

/** Facts about the desktop program. */
export interface Running {
  /** The environments whose gateways run in this program. */
  environments: Environment[];
  /** The environment to show if no environment was shown before. */
  first: Environment;
  /** The folder of this installation's data, which distinguishes installations. */
  folder?: string;
}

/** Carries commands to the gateways. */
export interface Transport {
  /** Sends a command to an environment's gateway. Rejects with a `CommandError`. */
  call<N extends CommandName>(
    environment: Environment,
    command: Extract<Command, { command: N }>,
  ): Promise<Answers[N]>;
  /** Sends a command to the desktop program. */
  shell<A extends ShellAct>(
    act: A,
    environment: Environment,
    fields?: ShellActs[A][0],
  ): Promise<ShellActs[A][1]>;
  /** Returns facts about the desktop program. */
  running(): Promise<Running>;
  /**
   * Calls `heard` at each event until the returned function is called. `changed` names an environment, `screen` an address,
   * `sound` a kind of event, `news` the events, and `saving` a number of rows.
   */
  on(event: HostEvent, heard: (named?: string) => void): () => void;
}

/** The transport for screens. It reaches only the environment that is shown. */
export interface Host {
  /** Sends a command to the gateway of the environment that is shown. Rejects with a `CommandError`. */
  call<N extends CommandName>(command: Extract<Command, { command: N }>): Promise<Answers[N]>;
  /** Sends a command to the desktop program. */
  shell<A extends ShellAct>(act: A, fields?: ShellActs[A][0]): Promise<ShellActs[A][1]>;
}

let current: Transport | undefined;

/** Answers that arrived while the other environment was shown. */
const waiting = new Map<Environment, (() => void)[]>();

onArrival((environment) => {
  const answers = waiting.get(environment) ?? [];
  waiting.delete(environment);
  for (const give of answers) give();
});

const panelsHost: Host = {
  call: (command) => {
    const asked = shown();
    // A screen gets its answer only while its own environment is shown. Otherwise a consequence of the answer, such as
    // a notice or the next command, would appear in the other environment.
    const inItsPlace = (give: () => void) => {
      if (shown() === asked) give();
      else waiting.set(asked, [...(waiting.get(asked) ?? []), give]);
    };
    return new Promise((resolve, reject) => {
      transport()
        .call(asked, command)
        .then(
          (answer) => inItsPlace(() => resolve(withSumsInLocale(answer))),
          (reason: unknown) => inItsPlace(() => reject(asCommandError(reason))),
        );
    });
  },
  shell: (act, fields) => transport().shell(act, shown(), fields),
};

export function host(): Host {
  return panelsHost;
}

/** The transport to all environments, for code that belongs to no single screen. */
export function transport(): Transport {
  if (!current) throw new Error("the panel was started without a host");
  return current;
}

/** Sets the transport, once, before the panel starts. */
export function setTransport(other: Transport): void {
  current = other;
}

/** The status of an environment, whether or not it is shown. */
export function statusOf(environment: Environment): Promise<StatusView> {
  return transport().call(environment, { command: "status" });
}

/** Converts any rejection of a call into a `CommandError`. */
export function asCommandError(reason: unknown): CommandError {
  if (typeof reason === "object" && reason !== null && "errorType" in reason && "message" in reason) {
    return reason as CommandError;
  }
  const detail = reason instanceof Error ? reason.message : String(reason);
  return {
    errorType: "WINDOW_FAILED",
    message: `The window could not reach the gateway (${detail}). Quit Tillgate and start it again.`,
    field: null,
  };
}
