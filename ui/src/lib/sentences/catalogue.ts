// The form of the window's words for the sentences of the gateway.
import type { Sentences } from "../bindings";

/**
 * The words of each code. They may use only the values that the sentence has.
 */
export type Catalogue = {
  [Code in keyof Sentences]: (v: Readonly<Record<Sentences[Code], string>>) => string;
};
