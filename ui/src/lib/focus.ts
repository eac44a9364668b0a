// Moves the keyboard's focus.
import { tick } from "svelte";

/** Focuses the page's heading: the button that opened a dialog may be gone after the dialog's act. */
export async function goOnFromHeading(): Promise<void> {
  await tick();
  const heading = document.querySelector<HTMLElement>("main h1");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
}
