// The only door to the gateway. The rest of the panel knows commands and answers, no transport.
import type { AnomalyRow } from "../bindings/AnomalyRow";
import type { Command } from "../bindings/Command";
import type { CommandError } from "../bindings/CommandError";
import type { DeliveryRow } from "../bindings/DeliveryRow";
import type { DoctorView } from "../bindings/DoctorView";
import type { KeyRow } from "../bindings/KeyRow";
import type { NewHmacKey } from "../bindings/NewHmacKey";
import type { NewKey } from "../bindings/NewKey";
import type { Page } from "../bindings/Page";
import type { PaymentRow } from "../bindings/PaymentRow";
import type { PaymentView } from "../bindings/PaymentView";
import type { Resent } from "../bindings/Resent";
import type { SettingRow } from "../bindings/SettingRow";
import type { StatusView } from "../bindings/StatusView";
import { tauriHost } from "./tauri";

/** What each command answers; the comments of `Command` in Rust say the same. */
export interface Answers {
  status: StatusView;
  listPayments: Page<PaymentRow>;
  showPayment: PaymentView;
  createPayment: PaymentView;
  acceptPayment: PaymentView;
  listAnomalies: Page<AnomalyRow>;
  showAnomaly: AnomalyRow;
  dismissAnomaly: AnomalyRow;
  listDeliveries: Page<DeliveryRow>;
  resend: Resent;
  listKeys: Page<KeyRow>;
  createKey: NewKey;
  revokeKey: KeyRow;
  rotateHmacKey: NewHmacKey;
  listSettings: Page<SettingRow>;
  getSetting: SettingRow;
  setSetting: SettingRow;
  unsetSetting: SettingRow;
  doctor: DoctorView;
  sandbox: unknown;
}

export type CommandName = Command["command"];

/** What the program around the window tells: something changed; the window was closed and there is no tray. */
export type HostEvent = "changed" | "no-tray";

/** What the program around the window can do for it. */
export type ShellAct = "quit" | "hide" | "reopen";

export interface Host {
  /** Puts a command to the gateway. Rejects with a `CommandError`. */
  call<N extends CommandName>(command: Extract<Command, { command: N }>): Promise<Answers[N]>;
  /** Asks something of the program around the window. */
  shell(act: ShellAct): Promise<void>;
  /** Hears events until the returned function is called. */
  on(event: HostEvent, heard: () => void): () => void;
}

let current: Host = tauriHost;

/** The host that the panel talks to. */
export function host(): Host {
  return current;
}

/** Puts another host in place: for tests. */
export function setHost(other: Host): void {
  current = other;
}

/** Whatever a call was rejected with, as a `CommandError`. */
export function asCommandError(reason: unknown): CommandError {
  if (typeof reason === "object" && reason !== null && "errorType" in reason && "message" in reason) {
    return reason as CommandError;
  }
  const detail = reason instanceof Error ? reason.message : String(reason);
  return {
    errorType: "WINDOW_FAILED",
    message: `The window could not reach the gateway (${detail}). Quit Tillgate and start it again.`,
    field: null,
  };
}
