// The tasks that wait for a person, made from facts of the gateway. Home shows each in a line with one button, the status
// bar counts them, and the other screens show those that stop payments.
import { nodeCatchesUp, said } from "./refusal";
import type { DeliveryItem, PayoutItem, StatusView, WarningKind } from "./bindings";
import { plural } from "./format";
import type { Route } from "./state/route.svelte";
import { backendWords } from "./words";

export interface Task {
  name: "anomalies" | "offers" | "chain" | "rates" | "shop" | "backup";
  /** Whether customers or coins are affected until somebody acts. */
  urgent: boolean;
  text: string;
  /** The gateway's own message, for whoever looks for the cause. */
  details?: string;
  /** Absent if the task ends by itself. */
  button?: { text: string; to: Route };
}

/** The warnings that Home shows as tasks. They are not shown above any screen. */
export const TASKS_OF_WARNINGS: readonly WarningKind[] = [
  "BACKUP_PASSPHRASE",
  "BACKUP_FAILED",
  "BACKUP_FOLDER",
  "BACKUP_LATE",
];

/** Whether the notices above the screen show something that Home does not show as a task. */
export function hasNotice(status: StatusView): boolean {
  return (
    status.alarms.length > 0 ||
    status.stuck.length > 0 ||
    status.senderHold !== null ||
    status.warningKinds.some((kind) => !TASKS_OF_WARNINGS.includes(kind))
  );
}

/** Accepted currencies without a fresh rate. */
function staleCurrencies(status: Pick<StatusView, "rates" | "currencies">): string[] {
  return status.rates
    .filter((rate) => !rate.fresh && status.currencies.includes(rate.currency))
    .map((rate) => rate.currency);
}

/** The payouts that wait for approval. */
export function offersWaiting(status: StatusView): number {
  return status.offersWaiting + status.ownOffersWaiting;
}

/**
 * The number of things that wait for a person: each record to decide on, and each other task. It is zero before there is
 * a wallet, because the guide shows everything that is missing.
 */
export function thingsWaiting(status: StatusView): number {
  if (!status.hasWallet) return 0;
  const others = tasksOf(status).filter((task) => task.name !== "anomalies" && task.name !== "offers");
  return status.openAnomalies + offersWaiting(status) + others.length;
}

/** The tasks about the chain and the rates. Until they end, payments do not show or cannot be created. */
export function paymentsStopped(status: StatusView): Task[] {
  return tasksOf(status).filter((task) => task.name === "chain" || task.name === "rates");
}

/** Records to which tasks lead, once they are known. */
interface Led {
  /** The newest failed attempt to notify a shop. */
  failed?: DeliveryItem | undefined;
  /** The payout that waits for approval, if it is the only one. */
  offer?: PayoutItem | undefined;
}

/** The tasks, the most urgent first. */
export function tasksOf(status: StatusView, { failed, offer }: Led = {}): Task[] {
  const tasks = [
    chain(status),
    rates(status),
    anomalies(status),
    offers(status, offer),
    shop(status, failed),
    backup(status),
  ];
  return tasks
    .filter((task) => task !== undefined)
    .sort((one, other) => Number(other.urgent) - Number(one.urgent));
}

function chain(status: StatusView): Task | undefined {
  if (status.chainError === null) return undefined;
  const task = { name: "chain", urgent: true } as const;
  const to: Route = status.sandbox ? { screen: "sandbox" } : { screen: "go-live", step: "chain" };
  if (status.backend === null) {
    const text = "No server is chosen that shows the Bitcoin network. New payments do not show.";
    return { ...task, text, button: { text: "Choose a server", to } };
  }
  const catchesUp = nodeCatchesUp(status.chainError);
  if (catchesUp) return { ...task, text: `${said(catchesUp)}. New payments show once it is done.` };
  const refused = status.paymentsRefused === null ? "" : " Until then no payment can be created.";
  const network = status.sandbox ? "the sandbox" : `the Bitcoin network (${backendWords(status.backend)})`;
  return {
    ...task,
    text: `Not connected to ${network}. New payments will not show until the connection is back.${refused}`,
    details: said(status.chainError),
    button: { text: status.sandbox ? "Open the sandbox" : "Check the connection", to },
  };
}

function rates(status: StatusView): Task | undefined {
  const stale = staleCurrencies(status);
  if (stale.length === 0) return undefined;
  return {
    name: "rates",
    urgent: stale.length === status.currencies.length,
    text: `There is no recent exchange rate for ${stale.join(", ")}, so that new payments are refused.`,
    button: status.sandbox
      ? { text: "Open the sandbox", to: { screen: "sandbox" } }
      : { text: "Check the sources", to: { screen: "settings", group: "rates" } },
  };
}

function anomalies({ openAnomalies, openReversals }: StatusView): Task | undefined {
  if (openAnomalies === 0) return undefined;
  const others = openAnomalies - openReversals;
  const sentences = [
    openReversals > 0 &&
      plural(openReversals, [
        "# payment was reversed: its coins are gone.",
        "# payments were reversed: their coins are gone.",
      ]),
    others > 0 &&
      plural(others, [
        "# payment came too late, too high or too low.",
        "# payments came too late, too high or too low.",
      ]),
  ];
  return {
    name: "anomalies",
    urgent: openReversals > 0,
    text: sentences.filter(Boolean).join(" "),
    button: { text: "Decide", to: { screen: "anomalies" } },
  };
}

function offers(status: StatusView, offer: PayoutItem | undefined): Task | undefined {
  const waiting = offersWaiting(status);
  if (waiting === 0) return undefined;
  return {
    name: "offers",
    urgent: false,
    text: plural(waiting, ["# payout waits for your approval.", "# payouts wait for your approval."]),
    button: {
      text: "Review",
      to: waiting === 1 && offer ? { screen: "payout", id: offer.payoutId } : { screen: "payouts" },
    },
  };
}

function shop(
  { failingNotifications, failingServers }: StatusView,
  failed: DeliveryItem | undefined,
): Task | undefined {
  if (failingNotifications === 0) return undefined;
  const servers = failingServers.join(", ");
  return {
    name: "shop",
    urgent: true,
    text: `${servers} cannot be notified. ${plural(failingNotifications, ["# notification waits and is tried again for three days.", "# notifications wait and are tried again for three days."])}`,
    ...(failed ? { button: { text: "See why", to: subjectOf(failed) } } : {}),
  };
}

/** The screen that shows a delivery: its record, or the anomalies. */
function subjectOf(failed: DeliveryItem): Route {
  if (failed.subjectKind === "anomaly") return { screen: "anomalies" };
  return { screen: failed.subjectKind, id: failed.subjectId };
}

function backup(status: StatusView): Task | undefined {
  const button = { text: "Back up", to: { screen: "wallet" } } as const;
  const task = { name: "backup", urgent: false, button } as const;
  const kind = status.warningKinds.find((one) => TASKS_OF_WARNINGS.includes(one));
  switch (kind) {
    case "BACKUP_PASSPHRASE":
      return { ...task, text: "No backup is made by night, because no passphrase is set for it." };
    case "BACKUP_FAILED":
      return { ...task, text: "The last nightly backup failed. Tillgate tries again in an hour." };
    case "BACKUP_FOLDER":
      return { ...task, text: "The nightly backup was not made. Is its disk connected?" };
    case "BACKUP_LATE":
      return { ...task, text: "The nightly backup is late." };
  }
  // The coins of the sandbox are worth nothing, so nobody has to back them up.
  if (status.sandbox || !status.hasWallet || status.isBackedUp) return undefined;
  return {
    ...task,
    text: "No backup was made yet. If this computer breaks, your payments and keys are lost.",
  };
}
