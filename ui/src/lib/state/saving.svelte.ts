// A list that is being saved as a file. It goes on while another screen is shown, and a person can break it off.
import { host, transport } from "../host";
import { Action } from "./action.svelte";
import { notice } from "./notices.svelte";

class Saving {
  readonly action = new Action();
  /** The number of rows that were written so far. */
  rows = $state(0);

  /** Runs the act that saves a file. */
  async run(save: () => Promise<{ file: string | null }>): Promise<void> {
    if (this.action.running) return;
    this.rows = 0;
    const forget = transport().on("saving", (rows) => (this.rows = Number(rows)));
    const saved = await this.action.run(save);
    forget();
    if (saved) notice(saved.file === null ? "Stopped. No file was saved." : `Saved as ${saved.file}.`);
  }

  stop(): void {
    void host().shell("stop-saving");
  }
}

export const saving = new Saving();
