// Wuchale finds each text of the window, keeps it in `languages/*.po`, and puts in its translation while Vite builds.
import { readdirSync } from "node:fs";
import { adapter as svelte, svelteDefaultHeuristic } from "@wuchale/svelte";
import { defineConfig } from "wuchale";
import { adapter as vanilla } from "wuchale/adapter-vanilla";
import { withoutReferences } from "./wuchale.storage.js";

const LANGUAGES = "../languages";
const SOURCE = "en";

/** The languages that have a file, the language of the sources first. */
const others = readdirSync(LANGUAGES)
  .filter((name) => name.endsWith(".po") && name !== `${SOURCE}.po`)
  .map((name) => name.replace(/\.po$/, ""));

/** Attributes that no person reads. */
const MARKUP_ONLY = /^(class|d|id|href|src|type|role|rel|for|name|style|viewBox|autocomplete|data-.*)$/;
/** Calls whose arguments are for the program. */
const PROGRAM_CALLS =
  /(^|\.)(querySelector(All)?|closest|matches|includes|replace(All)?|split|startsWith|endsWith|getItem|setItem|addEventListener|removeEventListener|matchMedia|console\.\w+|toLocaleString|createElement|DateTimeFormat|RelativeTimeFormat|NumberFormat)$/;

/** Texts in a script that stay as they are: keys of the keyboard, command lines and names of services. */
const NOT_WORDS =
  /^(Enter|Escape|Arrow(Up|Down|Left|Right)|Backspace|Delete|Kraken|Coinbase|Bitstamp|CoinGecko|Bitcoin Core|README\.md|(mv|tillgate) .*)$/s;

/** A phrase that begins with a small letter or with a value, which Wuchale writes as `#`. */
const PHRASE = /^\(?(\p{Ll}[\p{L},]* \S|#.* \(?\p{L})/u;

/** Whether a text is for people. */
function isForPeople(message) {
  const { scope, attribute, call } = message.details;
  if (attribute && MARKUP_ONLY.test(attribute)) return false;
  if (call && PROGRAM_CALLS.test(call)) return false;
  const text = message.msgStr.join(" ");
  if (scope !== "markup" && NOT_WORDS.test(text)) return false;
  const found = svelteDefaultHeuristic(message);
  if (found || scope === "markup") return found;
  return PHRASE.test(text) ? "message" : false;
}

const same = (expression) => expression;
const plainUse = { wrapInit: same, wrapUse: same };

const ofComponents = svelte({
  heuristic: isForPeople,
  loader: "custom",
  files: {
    include: ["src/**/*.svelte", "src/**/*.ts"],
    ignore: ["src/lib/bindings.ts", "src/lib/language/**", "**/*.d.ts"],
  },
  storage: withoutReferences(LANGUAGES, async (source) => (await panel.transform(source)).msgs),
  bundleLoad: true,
  runtime: {
    // The language is chosen before the first component is made, so that no text has to react to it.
    initReactive: ({ funcName }) => (funcName === undefined || funcName === null ? false : null),
    useReactive: false,
    plain: plainUse,
    reactive: plainUse,
  },
});

const ofModules = vanilla({
  heuristic: isForPeople,
  loader: "custom",
  runtime: { initReactive: () => null, useReactive: false, plain: plainUse, reactive: plainUse },
});

/** Components and modules share one catalog, because many texts stand in both. */
const panel = {
  ...ofComponents,
  loaderExts: [".ts"],
  defaultLoaderPath: null,
  transform: (source) => {
    if (source.filename.endsWith(".svelte")) return ofComponents.transform(source);
    const { msgs, output } = ofModules.transform(source);
    return { msgs, output: (header) => output(`${header}\nconst _w_runtime_ = ${source.expr.plain};\n`) };
  },
};

export default defineConfig({
  locales: [SOURCE, ...others],
  localesDir: "src/lib/language",
  adapters: { panel },
});
