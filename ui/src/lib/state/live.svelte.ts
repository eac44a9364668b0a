// Answers of the gateway, read again whenever it reports a change.
import type { CommandError } from "../bindings/CommandError";
import { asCommandError, transport } from "../host";
import { shown } from "./environment.svelte";

/** Counts the changes that the gateway reports; effects that read it run again. */
const changes = $state({ count: 0 });

/** Starts to follow the gateway's changes; returns a function that stops it. */
export function followChanges(): () => void {
  return transport().on("changed", (environment) => {
    if (environment === shown()) changes.count += 1;
  });
}

/** Reads all answers on the screen again at once, without a report from the gateway. */
export function refreshAll(): void {
  changes.count += 1;
}

export class Live<T> {
  /** The last answer. It stays while a newer one is awaited, and when the newer one fails. */
  value = $state.raw<T | undefined>(undefined);
  /** Why the newest read failed. */
  error = $state.raw<CommandError | undefined>(undefined);
  /** Whether neither an answer nor an error came yet. */
  readonly pending = $derived(this.value === undefined && this.error === undefined);
  #newest = 0;

  /** `read` runs again when the gateway reports a change, and when the state that it reads changes. */
  constructor(read: () => Promise<T>) {
    $effect(() => {
      void changes.count;
      void this.#take(read());
    });
  }

  /** Takes an answer unless a newer question was asked meanwhile. */
  async #take(answer: Promise<T>): Promise<void> {
    const mine = ++this.#newest;
    try {
      const value = await answer;
      if (mine !== this.#newest) return;
      this.value = value;
      this.error = undefined;
    } catch (reason) {
      if (mine === this.#newest) this.error = asCommandError(reason);
    }
  }
}
