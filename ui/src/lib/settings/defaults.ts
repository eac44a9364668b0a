// The value of a setting in words, for the button that returns to the default.
import { inLocale } from "../language/sums";
import { rateSourceName } from "../words";
import { ABOVE, listOf, shownValue, tiersOf } from "./forms";
import type { Setting } from "./kinds";

/** A value in words. A list of events is “all”, because the default names each. */
export function wordsOf({ control }: Setting, value: string): string {
  switch (control.kind) {
    case "choice":
      return control.options.find((option) => option.value === value)?.name ?? value;
    case "percent":
      return `${shownValue(control, value)} %`;
    case "sum":
      return `${shownValue(control, value)} ${control.unit}`;
    case "tiers":
      return tiersOf(value)
        .map(({ upTo, confirmations }) =>
          upTo === ABOVE ? `${confirmations} above` : `${confirmations} up to ${inLocale(upTo)} USD`,
        )
        .join(", ");
    case "currencies":
      return listOf(value).join(", ");
    case "sources":
      return listOf(value).map(rateSourceName).join(", ");
    case "notices":
      return "All";
    default:
      return value === "" ? "Empty" : value;
  }
}
