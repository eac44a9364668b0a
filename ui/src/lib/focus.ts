// Moves the keyboard's focus.
import { tick } from "svelte";

/** Focuses the page's heading, because the button that opened a dialog may no longer exist when the dialog closes. */
export async function goOnFromHeading(): Promise<void> {
  await tick();
  // A record stands after its list.
  const heading = [...document.querySelectorAll<HTMLElement>("main h1")].at(-1);
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
}

/** Whether keys that are pressed now are text, because the focus is in a text field. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.matches("input:not([type=radio], [type=checkbox], [type=range]), textarea, [contenteditable]")
  );
}
