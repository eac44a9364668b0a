// Moves the keyboard's focus.
import { tick } from "svelte";

/** Focuses the page's heading, because the button that opened a dialog may no longer exist when the dialog closes. */
export async function goOnFromHeading(): Promise<void> {
  await tick();
  const heading = document.querySelector<HTMLElement>("main h1");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
}
