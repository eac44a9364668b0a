// The gateway's refusals in the person's language. A refusal carries a code and its values; the words stand in
// `sentences/`. Nothing is searched in a finished sentence.
import type { CommandError, RefusalView, Sentences, Telling, TellingValue } from "./bindings";
import { plain, showTime } from "./format";
import { inLocale } from "./language/sums";
import { CATALOGUE } from "./sentences";
import { nowMs } from "./state/clock.svelte";
import { capital, inFormsWords, told, toldWithin, type Labels } from "./words";

type Words = (values: Record<string, string>) => string;

/** The sentence that a value is; `undefined` for a sum, a time and a text. */
export function sentenceOf(value: TellingValue | undefined): Telling | undefined {
  return typeof value === "object" && "code" in value ? value : undefined;
}

function asShown(value: TellingValue): string {
  if (typeof value === "string") return value;
  if ("sum" in value) return inLocale(value.sum);
  if ("time" in value) return showTime(value.time, nowMs());
  return worded(value) ?? `“${plain(value.message)}”`;
}

/** A sentence of the gateway in the person's language; `undefined` if the window does not know its code. */
export function worded({ code, values, field }: Telling, labels: Labels = {}): string | undefined {
  if (!Object.hasOwn(CATALOGUE, code)) return undefined;
  const words = CATALOGUE[code as keyof Sentences] as Words;
  const shown = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, asShown(value)]));
  if (field === undefined) return words(shown);
  const label = labels[field];
  if (label !== undefined && NO_NUMBER.has(code)) return `${label}: write a number, like 10.00 or 10,00`;
  return `${label ?? field} ${words(shown)}`;
}

/** A sentence of the gateway for a person. A sentence without words here is told in English, as a detail. */
export function said(telling: Telling, labels: Labels = {}): string {
  return capital(saidWithin(telling, labels));
}

/** As {@link said}, for a place within a sentence. */
export function saidWithin(telling: Telling, labels: Labels = {}): string {
  const words = worded(telling, labels);
  if (words !== undefined) return words;
  return speaksEnglish() ? toldWithin(telling.message) : `details in English: “${plain(telling.message)}”`;
}

/** The sentences of which a sentence is joined; the sentence itself if it is not. */
export function partsOf(telling: Telling): Telling[] {
  const { first, next, last } = telling.values;
  const joined = [first, next, last].map(sentenceOf).filter((part) => part !== undefined);
  return joined.length > 1 ? joined.flatMap(partsOf) : [telling];
}

/** The first sentence with one of these codes: the sentence itself, or one within it. */
export function withinOf(telling: Telling, codes: ReadonlySet<string>): Telling | undefined {
  if (codes.has(telling.code)) return telling;
  for (const value of Object.values(telling.values)) {
    const sentence = sentenceOf(value);
    const found = sentence && withinOf(sentence, codes);
    if (found) return found;
  }
  return undefined;
}

const CATCHES_UP: ReadonlySet<string> = new Set([
  "DOWN_CATCHING_UP",
  "DOWN_DOWNLOADING",
  "DOWN_LOADING_MEMPOOL",
]);

/** The sentence of a node that is still catching up, so that no action is needed. */
export function nodeCatchesUp(telling: Telling): Telling | undefined {
  return withinOf(telling, CATCHES_UP);
}

/** A sentence that no node has accepted a replacement transaction yet, with the reason if it is known. */
export function untaken(refusal: RefusalView | null): string {
  const why = refusal ? said(refusal.message) : "No node has taken the new transaction yet";
  return `${why}. It is broadcast again after each block, and the former transaction stays until then.`;
}

/** The codes of fields that are no numbers. The forms say it more clearly. */
const NO_NUMBER: ReadonlySet<string> = new Set(["AMOUNT_NOT_A_NUMBER"]);

/** A refusal for a person, and the details that the window has no words for. */
export interface Refused {
  text: string;
  details?: string;
}

/** The words of a refusal, with a form's labels of its fields. */
export function refused(error: CommandError, labels: Labels = {}): Refused {
  const sentences = (error.told ?? []).map((telling) => worded(telling, labels));
  const details = error.details === undefined ? {} : { details: error.details };
  if (sentences.length > 0 && sentences.every((sentence) => sentence !== undefined)) {
    return { text: capital(sentences.join("; ")), ...details };
  }
  if (speaksEnglish()) return { text: inFormsWords(error.message, labels), ...details };
  return { text: "This was refused", details: told(error.message) };
}

/** Whether the window speaks the language of the gateway's own sentences. */
const speaksEnglish = () => ["", "en"].includes(document.documentElement.lang);
