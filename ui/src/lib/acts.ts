// The acts of people and API keys, in words.
import type { ActItem } from "./bindings";
import { SETTINGS } from "./settings/table";
import type { Route } from "./state/route.svelte";
import { personOf } from "./words";

/** Each act of the log, by its name in the gateway with `_` between the words. */
const ACTS: Record<string, string> = {
  anomalies_ask: "Asked the customer for a refund address",
  anomalies_dismiss: "Dismissed money that needed attention",
  anomalies_refund: "Refunded money",
  backup: "Made a backup",
  backup_passphrase: "Changed the passphrase of backups",
  hmac_key_remove: "Removed a signing key",
  hmac_key_rotate: "Changed a signing key",
  keys_create: "Created an API key",
  keys_revoke: "Revoked an API key",
  payments_accept: "Accepted a payment",
  payments_cancel: "Cancelled a payment",
  payouts_abandon: "Cancelled a sent payout",
  payouts_approve: "Approved a payout",
  payouts_bump: "Raised the fee of a payout",
  payouts_dismiss: "Dismissed an alarm about a payout",
  payouts_reject: "Rejected a payout",
  payouts_release: "Released the payouts",
  payouts_request: "Asked for a payout",
  payouts_request_and_approve: "Asked for a payout and approved it",
  payouts_retry: "Tried waiting payouts again",
  payouts_send: "Sent a payout alone",
  products_save: "Changed the products of the till",
  restore: "Restored a backup",
  settings_set: "Changed a setting",
  settings_unset: "Returned a setting to its default",
  wallet_create: "Made the wallet",
  wallet_labels: "Imported labels",
  wallet_restore: "Restored the wallet from its words",
  wallet_restore_continue: "Continued the search for coins",
  wallet_restore_stop: "Stopped the search for coins",
};

/** The subjects by which the log is filtered: the first word of their acts. */
export const SUBJECTS: [string, string][] = [
  ["payouts", "Payouts"],
  ["payments", "Payments"],
  ["anomalies", "Needs attention"],
  ["settings", "Settings"],
  ["keys", "API keys"],
  ["wallet", "Wallet"],
  ["backup", "Backups"],
];

export const actWords = ({ act }: Pick<ActItem, "act">): string => ACTS[act.replaceAll(/[ -]/g, "_")] ?? act;

/** The person without the place, or the API key. */
export const actorWords = (actor: string): string =>
  actor.startsWith("cli:") ? `${personOf(actor)} (command line)` : personOf(actor);

/** The plain name of a setting; any other subject stays as it is. */
export function subjectWords({ act, subject }: Pick<ActItem, "act" | "subject">): string {
  if (!act.startsWith("settings ")) return subject;
  return SETTINGS.find(({ name }) => name === subject)?.label ?? subject;
}

/** The screen of the record that the act concerns. */
export function routeOf({ act, subject }: Pick<ActItem, "act" | "subject">): Route | undefined {
  if (!/^[0-9a-f]{40}$/.test(subject)) return undefined;
  if (act.startsWith("payments ")) return { screen: "payment", id: subject };
  return act.startsWith("payouts ") ? { screen: "payout", id: subject } : undefined;
}
