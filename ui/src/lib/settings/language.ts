// The choice of the window's language. A window takes it when it is loaded anew; its screen is part of the URL.
import { keepLanguage } from "../language/locale";
import { languages } from "../language/panel.loader";

/** The languages that have a file, each with its name in itself. */
export const LANGUAGES = languages
  .map((language) => ({
    language,
    name: new Intl.DisplayNames(language, { type: "language" }).of(language) ?? language,
  }))
  .sort((one, other) => one.name.localeCompare(other.name));

export const page = { reload: () => location.reload() };

export function chooseLanguage(language: string): void {
  keepLanguage(language);
  page.reload();
}
