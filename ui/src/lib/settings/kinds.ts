// The kinds of settings and of their controls.
import type { Group } from "./groups";

/** The unit of a number. `Control` has its words. */
export type UnitOfSetting =
  | "seconds"
  | "minutes"
  | "hours"
  | "sat/vB"
  | "confirmations"
  | "a second"
  | "payments"
  | "sources"
  | "addresses"
  | "files"
  | "BTC"
  | "%";

export interface Option {
  value: string;
  name: string;
}

/** The kind of a setting's control. */
export type Control =
  | { kind: "text"; placeholder?: string }
  | { kind: "lines" }
  | { kind: "color" }
  | { kind: "whole"; from: number; to: number; unit: UnitOfSetting }
  /** A sum in the form of the gateway. */
  | { kind: "sum"; unit: "BTC" }
  /** A number of thousandths up to `to`, which people read in percent. */
  | { kind: "percent"; to: number }
  | { kind: "choice"; options: readonly Option[] }
  | { kind: "password" }
  /** A control of its own, which needs more than one field. */
  | { kind: "logo" | "currencies" | "tiers" | "servers" | "small" | "sources" | "notices" }
  /** A choice for this computer, which the gateway does not know. */
  | { kind: "language" | "theme" | "unit" };

export interface Setting {
  name: string;
  group: Group;
  label: string;
  /** One or two sentences about its effect. */
  help: string;
  control: Control;
  /** The form of its value, as an answer to a value that the gateway refused. */
  form?: string;
  /** Whether a change concerns later payments only. */
  isFrozen?: true;
  /** When a change takes effect, if a merchant must know it. */
  effect?: string;
  /** The setting whose control changes this one too. */
  within?: string;
}
