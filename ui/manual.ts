// Bundles the merchant's manual: each page of Markdown becomes the tokens that `Help.svelte` shows.
import { readFileSync } from "node:fs";
import { marked } from "marked";
import type { Plugin } from "vite";

/** Loads a page of Markdown as a list of tokens. The page is parsed here, so that the window needs no parser. */
export function manual(): Plugin {
  return {
    name: "manual",
    enforce: "pre",
    load(id) {
      if (!id.endsWith(".md")) return undefined;
      return `export default ${JSON.stringify(marked.lexer(readFileSync(id, "utf8")))}`;
    },
  };
}
