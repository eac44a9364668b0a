// The only door to the gateway. The rest of the panel knows commands and answers, no transport.
import type { Answers } from "../bindings/Answers";
import type { Command } from "../bindings/Command";
import type { CommandError } from "../bindings/CommandError";

export type { Answers };

export type CommandName = Command["command"];

/**
 * What the program around the window tells: something changed; the window was closed and there is no tray; a person wants
 * to see the offers that wait for approval.
 */
export type HostEvent = "changed" | "no-tray" | "offers";

/** What the program around the window can do for it. */
export type ShellAct = "quit" | "hide" | "reopen";

export interface Host {
  /** Puts a command to the gateway. Rejects with a `CommandError`. */
  call<N extends CommandName>(command: Extract<Command, { command: N }>): Promise<Answers[N]>;
  /** Asks something of the program around the window. */
  shell(act: ShellAct): Promise<void>;
  /** Hears events until the returned function is called. */
  on(event: HostEvent, heard: () => void): () => void;
}

let current: Host | undefined;

/** The host that the panel talks to. */
export function host(): Host {
  if (!current) throw new Error("the panel was started without a host");
  return current;
}

/** Puts the host in place, once, before the panel starts. */
export function setHost(other: Host): void {
  current = other;
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
