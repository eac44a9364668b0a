// Answers of the gateway that are requested again after each change that it reports.
import type { CommandError } from "../bindings/CommandError";
import { asCommandError, transport } from "../host";
import { shown } from "./environment.svelte";

/** The number of changes that the gateway reported. Effects that read it run again after each change. */
const changes = $state({ count: 0 });

/** Starts counting the changes of the shown environment. Returns a function that stops the counting. */
export function followChanges(): () => void {
  return transport().on("changed", (environment) => {
    if (environment === shown()) changes.count += 1;
  });
}

/** Requests all answers on the screen again, without a change reported by the gateway. */
export function refreshAll(): void {
  changes.count += 1;
}

export class Live<T> {
  /** The last answer. It stays while a newer answer is awaited, and if the newer request fails. */
  value = $state.raw<T | undefined>(undefined);
  /** The error of the newest request; undefined if it succeeded. */
  error = $state.raw<CommandError | undefined>(undefined);
  /** Whether neither an answer nor an error has arrived yet. */
  readonly pending = $derived(this.value === undefined && this.error === undefined);
  #newest = 0;

  /** `read` runs again when the gateway reports a change, and when the state that it reads changes. */
  constructor(read: () => Promise<T>) {
    $effect(() => {
      void changes.count;
      void this.#take(read());
    });
  }

  /** Stores an answer, unless a newer request was sent in the meantime. */
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
