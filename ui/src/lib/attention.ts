// The inbox “Needs attention”: what happened to an anomaly's coins, and which decision suits it best.
import type { AnomalyItem } from "./bindings";
import { plain } from "./format";
import { money } from "./language/money";
import { orderOf } from "./words";

/** A decision about an anomaly. */
export type Decision = "accept" | "refund" | "dismiss";

/** Characters of a reference within a sentence. */
const REFERENCE_MAX = 60;

/** A reference for a place in quotes. A customer or a shop wrote it, and it must not speak for Tillgate. */
export function cut(reference: string): string {
  const text = plain(reference).replaceAll(/[”“]/g, '"');
  return text.length > REFERENCE_MAX ? `${text.slice(0, REFERENCE_MAX)}…` : text;
}

/** One sentence on what happened. */
export function whatHappened(row: AnomalyItem): string {
  const order = row.merchantTransactionId
    ? `order “${cut(row.merchantTransactionId)}” (price ${money(row.price)})`
    : orderOf(row);
  switch (row.anomalyType) {
    case "LATE_PAYMENT":
      return row.cameInTime
        ? `Coins for ${order} arrived in time, but were seen too late.`
        : `Coins for ${order} came after the payment had closed.`;
    case "EXTRA_PAYMENT":
      return `More coins came for ${order}, which was paid already.`;
    case "OVERPAYMENT": {
      // The coins are the surplus of a confirmed payment, but all coins of one that an overpayment made invalid.
      const coins = money(row.worth);
      return row.acceptance
        ? `Too much came for ${order}: ${coins}.`
        : `The customer paid ${coins} too much for ${order}.`;
    }
    case "UNDERPAYMENT": {
      if (!row.acceptance?.short) return `Too little came for ${order} before the payment closed.`;
      const { worth, price } = row.acceptance;
      const name = row.merchantTransactionId ? ` for order “${cut(row.merchantTransactionId)}”` : "";
      return `Only ${money(worth)} of ${money(price)} came${name} before the payment closed.`;
    }
    case "REVERSED_PAYMENT":
      return `The coins for ${order} were taken back. It is no longer paid: ask the customer to pay again.`;
  }
}

/** A sentence on the question where to refund; undefined if the customer was not asked, or staff have decided. */
export function questionOf(row: Pick<AnomalyItem, "question" | "resolution">): string | undefined {
  if (!row.question || row.resolution !== "OPEN") return undefined;
  return row.question.address
    ? "The customer gave an address for the refund."
    : "The customer was asked for an address.";
}

/** The decisions that are possible, the recommended one first. */
export function decisionsOf(
  row: Pick<AnomalyItem, "anomalyType" | "acceptance" | "resolution"> &
    Partial<Pick<AnomalyItem, "question">>,
): Decision[] {
  if (row.resolution !== "OPEN") return [];
  if (row.anomalyType === "REVERSED_PAYMENT") {
    if (!row.acceptance) return ["dismiss"];
    return row.acceptance.short ? ["dismiss", "accept"] : ["accept", "dismiss"];
  }
  if (!row.acceptance) return ["refund", "dismiss"];
  if (row.question?.address) return ["refund", "accept", "dismiss"];
  // Coins that cover the price are most likely meant for the order; too few are not.
  return row.acceptance.short ? ["refund", "accept", "dismiss"] : ["accept", "refund", "dismiss"];
}

/** Moves the focus among the rows of a list: the first control of each row is marked by `data-stop`. */
export function stepThrough(list: HTMLElement, by: 1 | -1): void {
  const stops = [...list.querySelectorAll<HTMLElement>("[data-stop]")];
  const at = stops.findIndex((stop) => stop.closest("li")?.contains(document.activeElement));
  const to = at < 0 ? (by > 0 ? 0 : stops.length - 1) : Math.min(Math.max(at + by, 0), stops.length - 1);
  stops[to]?.focus();
  stops[to]?.closest("li")?.scrollIntoView({ block: "nearest" });
}
