import svelte from "eslint-plugin-svelte";
import ts from "typescript-eslint";
import svelteConfig from "./svelte.config.js";

const browser = { window: "readonly", document: "readonly", location: "readonly", navigator: "readonly" };

export default ts.config(
  {
    ignores: [
      "dist",
      "node_modules",
      "src/lib/bindings.ts",
      "src/lib/language/.wuchale",
      "src/lib/language/data.js",
    ],
  },
  ...ts.configs.recommended,
  ...svelte.configs.recommended,
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { globals: browser, parserOptions: { parser: ts.parser, svelteConfig } },
  },
  {
    // The one door to the backend: nothing but its file may know the transport.
    files: ["src/**"],
    ignores: ["src/lib/host/tauri.ts"],
    rules: {
      "no-restricted-imports": ["error", { patterns: ["@tauri-apps/*"] }],
      "no-restricted-globals": ["error", "fetch", "XMLHttpRequest", "EventSource", "WebSocket"],
    },
  },
  {
    // What comes from customers and shops is text, never markup.
    rules: { "svelte/no-at-html-tags": "error", "no-console": "error", eqeqeq: "error" },
  },
);
