// The form of the window's words for the sentences of the gateway.
import type { Sentences } from "../bindings/Sentences";

/**
 * The words of each code. They may use only the values that the sentence has. A sentence that is another program's words
 * has none here.
 */
export type Catalogue = {
  [Code in keyof Sentences]: ((v: Readonly<Record<Sentences[Code], string>>) => string) | undefined;
};
