// Answers of the gateway that are requested again after each change that it reports.
import { untrack } from "svelte";
import type { CommandError } from "../bindings";
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
  readonly #read: () => Promise<T>;
  #newest = 0;
  /** The number of the newest request that was answered. */
  #answered = 0;
  /** Whether the gateway reported a change while the newest answer was awaited. */
  #isStale = false;

  /**
   * `read` runs again when the state that it reads changes, and when the gateway reports a change. Changes that arrive
   * before an answer lead to one more request after it, so that many changes cannot pile up requests.
   */
  constructor(read: () => Promise<T>) {
    this.#read = read;
    let seen = changes.count;
    $effect(() => void this.#take(read()));
    $effect(() => {
      if (changes.count === seen) return;
      seen = changes.count;
      if (this.#answered < this.#newest) this.#isStale = true;
      else untrack(() => void this.#take(read()));
    });
    $effect(() => () => (this.#isStale = false));
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
    if (mine !== this.#newest) return;
    this.#answered = mine;
    if (!this.#isStale) return;
    this.#isStale = false;
    void this.#take(this.#read());
  }
}
