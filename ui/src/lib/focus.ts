// Where the keyboard goes on.
import { tick } from "svelte";

/** From the page's heading: the button that opened a dialog may go away with what was done in it. */
export async function goOnFromHeading(): Promise<void> {
  await tick();
  const heading = document.querySelector<HTMLElement>("main h1");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
}
