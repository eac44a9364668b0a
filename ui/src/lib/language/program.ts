// The sentences of the gateway in the person's language. The desktop program has the translations, and finds a sentence
// in the same way (`machine/language.rs`).

/** A text of the gateway as a pattern with a group for each value, and its translation with numbered places. */
interface Template {
  pattern: RegExp;
  /** The number of the place of each group. */
  places: string[];
  translation: string;
}

const PLACE = /\{(\d+)\}/g;
const SEPARATORS = [". ", "; ", ": ", ", "];

const whole = new Map<string, string>();
let templates: Template[] = [];

/** Learns the texts of the gateway, each with its translation. */
export function learn(texts: readonly (readonly [string, string])[]): void {
  whole.clear();
  const longestFirst = [...texts].sort(([one], [other]) => ownLength(other) - ownLength(one));
  templates = longestFirst.flatMap(([text, translation]) => {
    const places = [...text.matchAll(PLACE)].map(([, place]) => place ?? "");
    if (places.length > 0) return [{ pattern: patternOf(text), places, translation }];
    whole.set(text, translation);
    return [];
  });
}

const ownLength = (text: string) => text.replace(PLACE, "").length;

function patternOf(text: string): RegExp {
  const literals = text.split(/\{\d+\}/).map((literal) => literal.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${literals.join("(.*?)")}$`, "s");
}

/** A text of the gateway in the person's language. A text that is not known stays as it is. */
export function inLanguage(text: string): string {
  if (whole.size === 0 || text === "") return text;
  const found = aboutField(text) ?? find(text);
  if (found !== undefined) return found;
  for (const separator of SEPARATORS) {
    const at = text.indexOf(separator);
    if (at < 0) continue;
    const rest = text.slice(at + separator.length);
    return `${inLanguage(text.slice(0, at))}${separator}${inLanguage(rest)}`;
  }
  return text;
}

/** A refusal that begins with the name of a field, such as `address is empty`. */
function aboutField(text: string): string | undefined {
  const [, name = "", rest = ""] = /^(\w+) ((?:is|has|must|may|could|mixes|or) .+)$/s.exec(text) ?? [];
  const found = find(rest);
  return found === undefined ? undefined : `${name} ${found}`;
}

/** Finds a text also if a sentence begins with it, so that its first letter became a capital. */
function find(text: string): string | undefined {
  const small = text.charAt(0).toLowerCase() + text.slice(1);
  const found = findAsWritten(text);
  if (found !== undefined || small === text) return found;
  const translation = findAsWritten(small);
  return translation && translation.charAt(0).toUpperCase() + translation.slice(1);
}

function findAsWritten(text: string): string | undefined {
  const found = whole.get(text);
  if (found !== undefined) return found;
  for (const { pattern, places, translation } of templates) {
    const values = pattern.exec(text)?.slice(1);
    if (!values?.every(isOne)) continue;
    const said = new Map(places.map((place, at) => [place, valueOf(values[at] ?? "")]));
    return translation.replace(PLACE, (_, place: string) => said.get(place) ?? "");
  }
  return undefined;
}

/** Whether a text can be a single value, and not a part of a list. */
function isOne(value: string): boolean {
  return !SEPARATORS.some((separator) => value.includes(separator)) || find(value) !== undefined;
}

/** One word may be a name that a person chose. Several words are a text of the gateway within a text. */
const valueOf = (value: string) => (value.includes(" ") ? inLanguage(value) : value);
