// The words of a refused setting, for a person who sees its plain name and its field.
import type { CommandError } from "../bindings";
import { refused, withinOf } from "../refusal";
import { withLabels } from "../words";
import { percentOf } from "./forms";
import type { Setting } from "./kinds";
import { SETTING_LABELS } from "./table";

const OF_VALUE: ReadonlySet<string> = new Set(["SETTING_VALUE"]);

/** The form of a setting's value, if the window has words for it. */
function formOf({ form, control }: Setting): string | undefined {
  if (control.kind === "whole") return `Write a whole number from ${control.from} to ${control.to}.`;
  if (control.kind !== "percent") return form;
  return `Write a percentage from 0 to ${percentOf(String(control.to))}, with at most one decimal.`;
}

/** Why the gateway refused a change of this setting. */
export function whyRefused(error: CommandError, setting: Setting): string {
  const [telling] = error.told ?? [];
  const form = telling && withinOf(telling, OF_VALUE) ? formOf(setting) : undefined;
  return form ?? withLabels(refused(error, SETTING_LABELS).text, SETTING_LABELS);
}
