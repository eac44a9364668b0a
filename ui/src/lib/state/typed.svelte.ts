// A form's contents after each pause in typing, so that not every key press sends a command to the gateway.
const PAUSE_MS = 250;

export class Typed<T> {
  /** The form's contents at the last pause. */
  value = $state.raw() as T;
  /** Whether `value` equals the form's present contents. */
  settled = $state(true);

  /** `read` returns the form's present contents. */
  constructor(read: () => T) {
    this.value = read();
    let first = true;
    $effect(() => {
      const typed = read();
      if (first) {
        first = false;
        return;
      }
      this.settled = false;
      const timer = setTimeout(() => {
        this.value = typed;
        this.settled = true;
      }, PAUSE_MS);
      return () => clearTimeout(timer);
    });
  }
}
