declare global {
  /** The person's locale, which the desktop program sets. */
  var tillgateLocale: string | undefined;
}

const KEY = "tillgate.language";

/** The locale of the system, such as `de-AT`. */
const ofSystem = globalThis.tillgateLocale ?? navigator.language;

/** The language that a person chose for this computer; empty for the system's. */
export const chosenLanguage = localStorage.getItem(KEY) ?? "";

/** Keeps the choice. A window takes it when it is loaded anew. */
export function keepLanguage(language: string): void {
  if (language === "") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, language);
}

/** The system's locale, in the chosen language: `de-AT` in English is `en-AT`. */
export function localeIn(language: string, system: string): string {
  const { language: usual, region } = new Intl.Locale(system);
  if (language === "" || language === usual) return system;
  const isWhole = region === undefined || new Intl.Locale(language).region !== undefined;
  return isWhole ? language : `${language}-${region}`;
}

/** The person's locale, such as `de-AT`. Numbers, dates and times are written as is usual there. */
export const locale = localeIn(chosenLanguage, ofSystem);

/** The region of the shop, such as `AT`. A chosen language does not change it. */
export const region = new Intl.Locale(ofSystem).maximize().region ?? "";

/** Whether card terminals of the person's country take the cents first: 4 5 0 is 4.50. */
export const isCentsFirstUsual = ["US", "CA", "GB", "AU"].includes(new Intl.Locale(locale).region ?? "");
