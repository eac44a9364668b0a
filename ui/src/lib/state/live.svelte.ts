// What the gateway holds, read again whenever it says that something changed.
import type { CommandError } from "../bindings/CommandError";
import { asCommandError, transport } from "../host";
import { shown } from "./environment.svelte";

/** Moves with every change that the gateway reports; whatever reads it is computed afresh. */
const changes = $state({ count: 0 });

/** Starts to hear the gateway's changes; returns what stops it. */
export function followChanges(): () => void {
  return transport().on("changed", (environment) => {
    if (environment === shown()) changes.count += 1;
  });
}

/** Reads everything on the screen again, without waiting for the gateway to say so. */
export function refreshAll(): void {
  changes.count += 1;
}

export class Live<T> {
  /** The last answer; it stays while a newer one is on its way, and when that fails. */
  value = $state.raw<T | undefined>(undefined);
  /** Why the newest read failed. */
  error = $state.raw<CommandError | undefined>(undefined);
  /** Whether nothing was answered yet. */
  readonly pending = $derived(this.value === undefined && this.error === undefined);
  #newest = 0;

  /** `read` runs again when the gateway changes, and when what it reads of the window's state does. */
  constructor(read: () => Promise<T>) {
    $effect(() => {
      void changes.count;
      void this.#take(read());
    });
  }

  /** An answer that was overtaken by a newer question is dropped. */
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
