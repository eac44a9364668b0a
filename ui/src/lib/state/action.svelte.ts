// The state of a command that a person starts: whether it is running, and the error if it failed.
import type { CommandError } from "../bindings";
import { asCommandError } from "../host";
import { refused } from "../refusal";
import type { Labels } from "../words";

export class Action {
  running = $state(false);
  error = $state.raw<CommandError | undefined>(undefined);

  /** Runs `act` unless it is already running. Returns its answer, or undefined if it failed. */
  async run<T>(act: () => Promise<T>): Promise<T | undefined> {
    if (this.running) return undefined;
    this.running = true;
    this.error = undefined;
    try {
      return await act();
    } catch (reason) {
      this.error = asCommandError(reason);
      return undefined;
    } finally {
      this.running = false;
    }
  }

  /** The error's message with the form's labels, if the error concerns this field. */
  about(field: string, labels: Labels = {}): string | undefined {
    return this.error?.field === field ? refused(this.error, labels).text : undefined;
  }
}
