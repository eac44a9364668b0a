// The change of a setting, sent as soon as its field is left. Changes of one field are sent one after another.
import type { CommandError, SettingItem } from "../bindings";
import { host } from "../host";
import { Action } from "./action.svelte";
import { refreshAll } from "./live.svelte";

/** The new values of settings by their names. The value `null` returns a setting to its default. */
export type Wanted = Record<string, string | null>;

export class Change {
  readonly #action = new Action();
  #last: Promise<unknown> = Promise.resolve();

  get error(): CommandError | undefined {
    return this.#action.error;
  }

  /** Shows an error about a value that is not sent. */
  refuse(error: CommandError | undefined): void {
    this.#action.error = error;
  }

  /** Sends the changes, all or none. Returns the settings as they are now, or undefined after a refusal. */
  async send(wanted: Wanted): Promise<SettingItem[] | undefined> {
    const changes = Object.entries(wanted).map(([name, value]) => ({ name, value }));
    const sent = this.#last.then(() =>
      this.#action.run(() => host().call({ command: "changeSettings", changes })),
    );
    this.#last = sent;
    const page = await sent;
    refreshAll();
    return page?.items;
  }
}
