/** The language of a locale such as `de-AT`, if it has a file; otherwise English. */
export function languageOf(locale: string, existing: readonly string[]): string {
  return [locale, locale.split("-")[0]].find((tag) => tag && existing.includes(tag)) ?? "en";
}
