// Wuchale has each file of the window call `getRuntime` for its texts.
import toRuntime from "wuchale/runtime";
import { languageOf } from "./choose";
import { locale } from "./locale";

type Catalog = Parameters<typeof toRuntime>[0];
type Runtime = ReturnType<typeof toRuntime>;

let runtime: Runtime | undefined;

/** The languages that have a file. */
export const languages: string[] = [];

/** The texts in the language of the window. All files share one catalog, so the first call chooses for all. */
export function getRuntime(catalogs: Record<string, Catalog>): Runtime {
  return (runtime ??= chosen(catalogs));
}

function chosen(catalogs: Record<string, Catalog>): Runtime {
  languages.push(...Object.keys(catalogs));
  const language = languageOf(locale, languages);
  document.documentElement.lang = language;
  return toRuntime(catalogs[language], language);
}

/** Wuchale's name for texts that change while the window is open. The language does not change then. */
export const getRuntimeRx = getRuntime;
