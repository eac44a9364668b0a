// The window's modules, loaded anew.
import { vi } from "vitest";

/** Makes the next imports those of a window that was opened in this language. */
export function openedIn(language: string): void {
  vi.resetModules();
  // Svelte defines a trap for the name of each rune, and cannot define it twice in a context of `vm`.
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (/^\$[a-z]+$/.test(name)) Reflect.deleteProperty(globalThis, name);
  }
  globalThis.tillgateLocale = language;
}
