// The only door to the gateways. The rest of the panel knows commands and answers, no transport.
import type { Answers } from "../bindings/Answers";
import type { Command } from "../bindings/Command";
import type { CommandError } from "../bindings/CommandError";
import type { StatusView } from "../bindings/StatusView";
import { onArrival, shown, type Environment } from "../state/environment.svelte";

export type { Answers };

export type CommandName = Command["command"];

/**
 * What the program around the window tells: something changed in an environment; the window was closed and there is no
 * tray; a person wants to see the offers of an environment that wait for approval.
 */
export type HostEvent = "changed" | "no-tray" | "offers";

/** What the program around the window can do for it: `reopen` and `shown` concern one environment. */
export type ShellAct = "quit" | "hide" | "reopen" | "shown";

/** What the program around the window runs. */
export interface Running {
  /** The environments that have a gateway in this program. */
  environments: Environment[];
  /** The one to show to somebody who never chose. */
  first: Environment;
  /** The folder of this installation's data, by which it is told from another one. */
  folder?: string;
}

/** How commands reach the gateways. */
export interface Transport {
  /** Puts a command to the gateway of an environment. Rejects with a `CommandError`. */
  call<N extends CommandName>(
    environment: Environment,
    command: Extract<Command, { command: N }>,
  ): Promise<Answers[N]>;
  /** Asks something of the program around the window. */
  shell(act: ShellAct, environment: Environment): Promise<void>;
  /** What runs in the program around the window. */
  running(): Promise<Running>;
  /** Hears events until the returned function is called; some are of one environment. */
  on(event: HostEvent, heard: (environment?: Environment) => void): () => void;
}

/** What a screen sees of it: the environment that is shown, and no other. */
export interface Host {
  /** Puts a command to the gateway of the environment that is shown. Rejects with a `CommandError`. */
  call<N extends CommandName>(command: Extract<Command, { command: N }>): Promise<Answers[N]>;
  /** Asks something of the program around the window. */
  shell(act: ShellAct): Promise<void>;
}

let current: Transport | undefined;

/** Answers that came while another environment was shown. */
const waiting = new Map<Environment, (() => void)[]>();

onArrival((environment) => {
  const answers = waiting.get(environment) ?? [];
  waiting.delete(environment);
  for (const give of answers) give();
});

const panelsHost: Host = {
  call: (command) => {
    const asked = shown();
    // Whoever asked goes on only while that environment is shown: what follows an answer (another screen, a notice, a
    // secret, the next command) would else happen under the other.
    const inItsPlace = (give: () => void) => {
      if (shown() === asked) give();
      else waiting.set(asked, [...(waiting.get(asked) ?? []), give]);
    };
    return new Promise((resolve, reject) => {
      transport()
        .call(asked, command)
        .then(
          (answer) => inItsPlace(() => resolve(answer)),
          (reason: unknown) => inItsPlace(() => reject(asCommandError(reason))),
        );
    });
  },
  shell: (act) => transport().shell(act, shown()),
};

/** The host that the panel talks to. */
export function host(): Host {
  return panelsHost;
}

/** The way to the gateways, for the frame around the panels. */
export function transport(): Transport {
  if (!current) throw new Error("the panel was started without a host");
  return current;
}

/** Puts the transport in place, once, before the panel starts. */
export function setTransport(other: Transport): void {
  current = other;
}

/** What runs in one environment, whichever is shown. */
export function statusOf(environment: Environment): Promise<StatusView> {
  return transport().call(environment, { command: "status" });
}

/** Whatever a call was rejected with, as a `CommandError`. */
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
