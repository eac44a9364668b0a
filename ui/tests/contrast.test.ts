import { describe, expect, test } from "vitest";

// Checks in both themes that text has enough contrast: in badges, notices and buttons, even disabled ones.

/** The least contrast that WCAG 2 demands for text of this size. */
const ENOUGH = 4.5;

/** The style sheet and the components, by file. */
const SOURCES = import.meta.glob<string>("../src/**/*.{svelte,css}", {
  query: "?raw",
  import: "default",
  eager: true,
});
const CSS = SOURCES["../src/app.css"] ?? "";

type Theme = Record<string, string>;

/** The colours of the first block of variables after `from`. */
function colours(from: string): Theme {
  const block = CSS.slice(CSS.indexOf(from)).match(/\{([^}]*)\}/)?.[1] ?? "";
  return Object.fromEntries(
    [...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((found) => [found[1], found[2]]),
  );
}

const light = colours(":root");
const dark = { ...light, ...colours(':root[data-theme="dark"]') };

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = (colour.match(/[0-9a-f]{2}/g) ?? [])
    .map((pair) => Number.parseInt(pair, 16) / 255)
    .map((value) => (value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

interface Rule {
  where: string;
  ink: string;
  ground: string;
}

/** Each rule that sets both a text colour and a background. */
function rules(): Rule[] {
  return Object.entries(SOURCES).flatMap(([file, text]) => {
    const css = file.endsWith(".css") ? text : (text.match(/<style>([^]*)<\/style>/)?.[1] ?? "");
    return [...css.matchAll(/([^{}]+)\{([^{}]*)\}/g)].flatMap(([, selector = "", body = ""]) => {
      const ink = body.match(/(?:^|[\s;])color: var\(--([\w-]+)\)/)?.[1];
      const ground = body.match(/background(?:-color)?: var\(--([\w-]+)\)/)?.[1];
      return ink && ground ? [{ where: `${file}: ${selector.trim()}`, ink, ground }] : [];
    });
  });
}

describe.each([
  ["light", light],
  ["dark", dark],
])("in the %s theme", (_, theme) => {
  const colour = (name: string) => theme[name] ?? "";

  const all = rules().filter(({ ink, ground }) => colour(ink) !== "" && colour(ground) !== "");

  test("the rules of badges and buttons are found", () => {
    const found = all.map(({ where }) => where).join("\n");
    for (const known of [
      "StateBadge.svelte: .badge",
      "StateBadge.svelte: .bad",
      "app.css: button.primary",
      "button:disabled",
    ]) {
      expect(found).toContain(known);
    }

    expect(all.length).toBeGreaterThan(15);
  });

  test.each(all)("$where can be read", ({ ink, ground }) => {
    expect(contrast(colour(ink), colour(ground))).toBeGreaterThanOrEqual(ENOUGH);
  });

  test("each text colour is readable on every background", () => {
    for (const ground of ["ground", "surface", "raised"]) {
      for (const ink of ["ink", "ink-soft", "accent", "good", "wait", "short", "bad", "calm"]) {
        const found = contrast(colour(ink), colour(ground));
        expect(found, `${ink} on ${ground}`).toBeGreaterThanOrEqual(ENOUGH);
      }
    }
  });
});

test("no rule makes text paler by opacity", () => {
  for (const [file, text] of Object.entries(SOURCES)) {
    expect(text, file).not.toMatch(/[^-]opacity: 0?\.\d/);
  }
});
