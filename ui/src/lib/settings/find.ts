// The search of the screen "Settings".
import { GROUPS } from "./groups";
import type { Setting } from "./kinds";
import { SETTINGS } from "./table";

const nameOfGroup = new Map<string, string>(GROUPS.map(({ group, name }) => [group, name]));

function textOf({ name, group, label, help }: Setting): string {
  return [name, label, help, nameOfGroup.get(group)].join(" ").toLowerCase();
}

/** The setting with the control of a setting: the setting itself, or the one that it stands within. */
function shownWith(setting: Setting): Setting {
  return SETTINGS.find(({ name }) => name === setting.within) ?? setting;
}

/** The settings whose plain name, help, technical name or group has each word of the search. */
export function settingsFound(search: string): Setting[] {
  const words = search.toLowerCase().split(/\s+/);
  const found = SETTINGS.filter((setting) => words.every((word) => textOf(setting).includes(word)));
  return [...new Set(found.map(shownWith))];
}
