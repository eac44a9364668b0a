// The settings of the gateway, as its documentation lists them. A test of Rust writes that page.
import page from "../../docs/reference/settings.md?raw";
import type { SettingItem } from "../src/lib/bindings";

export interface Documented {
  name: string;
  /** The heading under which it stands. */
  section: string;
  /** The default in the test environment. */
  default: string;
  meaning: string;
}

/** All settings of the page, in its order. */
export function documented(): Documented[] {
  const sections = page.split(/^## /m).slice(1);
  return sections.flatMap((text) => {
    const section = text.split("\n", 1)[0] ?? "";
    const rows = text.matchAll(/^\| `(\w+)` \| (.*?) \| (.*) \|$/gm);
    return Array.from(rows, ([, name = "", defaults = "", meaning = ""]) => ({
      name,
      section,
      default: /`(.*?)`/.exec(defaults)?.[1] ?? "",
      meaning,
    }));
  });
}

/** The reply to `listSettings`: each setting has its default, or the value that a test gives. */
export function allSettings(over: Record<string, string> = {}): { items: SettingItem[]; itemsCount: number } {
  const items = documented().map(({ name, default: usual, meaning }) => ({
    name,
    value: over[name] ?? usual,
    default: usual,
    about: meaning,
  }));
  return { items, itemsCount: items.length };
}
