declare global {
  /** The person's locale, which the desktop program sets. */
  var tillgateLocale: string | undefined;
}

/** The person's locale, such as `de-AT`. Numbers, dates and times are written as is usual there. */
export const locale = globalThis.tillgateLocale ?? navigator.language;

/** Whether card terminals of the person's country take the cents first: 4 5 0 is 4.50. */
export const isCentsFirstUsual = ["US", "CA", "GB", "AU"].includes(new Intl.Locale(locale).region ?? "");
