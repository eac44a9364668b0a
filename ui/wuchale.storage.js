// Keeps the texts in files without references to the sources, so that a moved text changes no file.
import { readdirSync, readFileSync } from "node:fs";
import { pofile } from "wuchale";

/** The sources with texts. */
const FOLDER = "src";
const HAS_TEXTS = /^(?!lib\/(bindings\.ts$|language\/)).*(\.svelte|(?<!\.d)\.ts)$/;

/** A reference of a text that no source has. Wuchale removes the reference, and then the text. */
const NOWHERE = { file: "nowhere", refs: [null] };

/** Reads and writes the `.po` files in `dir`. `textsOf` finds the texts of a source. */
export const withoutReferences = (dir, textsOf) => async (options) => {
  const write = (file, content) => options.fs.write(file, content.replaceAll(/^#[:.].*\n/gm, ""));
  const storage = await pofile({ dir })({ ...options, fs: { ...options.fs, write } });
  const { sourceLocale } = options;
  return {
    key: storage.key,
    files: storage.files,
    load: async () => {
      const catalog = await storage.load();
      const found = await references(textsOf);
      for (const item of catalog.items) {
        item.references = found.get(keyOf(item.translations.get(sourceLocale))) ?? [NOWHERE];
      }
      return catalog;
    },
    save: (catalog) => {
      const byText = (one, other) => (idOf(one) < idOf(other) ? -1 : 1);
      const idOf = (item) => keyOf(item.translations.get(sourceLocale));
      return storage.save({ ...catalog, items: [...catalog.items].sort(byText) });
    },
  };
};

const keyOf = (forms) => forms.join("\n");

/** The references of each text, as Wuchale makes them. */
async function references(textsOf) {
  const found = new Map();
  const source = { index: { get: () => 0 }, expr: { plain: "", reactive: "" }, matchUrl: () => null };
  for (const name of readdirSync(FOLDER, { recursive: true }).sort()) {
    if (!HAS_TEXTS.test(name)) continue;
    const filename = `${FOLDER}/${name}`;
    for (const text of await textsOf({ ...source, filename, content: readFileSync(filename, "utf8") })) {
      const refs = found.get(keyOf(text.msgStr)) ?? [];
      if (refs.at(-1)?.file !== filename) refs.push({ file: filename, refs: [] });
      const places = text.placeholders.map(([place, code]) => [place, code.replace(/\s+/g, " ").trim()]);
      refs.at(-1).refs.push(places.length > 0 ? { placeholders: places } : null);
      found.set(keyOf(text.msgStr), refs);
    }
  }
  return found;
}
