// A statement that is being saved. It goes on while another screen is shown, and a person can break it off.
import { host, transport, type ShellActs } from "../host";
import { Action } from "./action.svelte";
import { notice } from "./notices.svelte";

class Saving {
  readonly action = new Action();
  /** The number of rows that were written so far. */
  rows = $state(0);

  async save(asked: ShellActs["save-statement"][0]): Promise<void> {
    if (this.action.running) return;
    this.rows = 0;
    const forget = transport().on("saving", (rows) => (this.rows = Number(rows)));
    const saved = await this.action.run(() => host().shell("save-statement", asked));
    forget();
    if (saved) notice(saved.file === null ? "Stopped. No file was saved." : `Saved as ${saved.file}.`);
  }

  stop(): void {
    void host().shell("stop-saving");
  }
}

export const saving = new Saving();
