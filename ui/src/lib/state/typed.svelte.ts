// What a person types, once they pause: the gateway is asked then, not at each key.
const PAUSE_MS = 250;

export class Typed<T> {
  /** What was typed at the last pause. */
  value = $state.raw() as T;
  /** Whether `value` is what stands in the form now. */
  settled = $state(true);

  /** `read` gives what stands in the form. */
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
