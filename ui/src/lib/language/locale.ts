declare global {
  /** The person's locale, which the desktop program sets. */
  var tillgateLocale: string | undefined;
}

/** The person's locale, such as `de-AT`. Numbers, dates and times are written as is usual there. */
export const locale = globalThis.tillgateLocale ?? navigator.language;
