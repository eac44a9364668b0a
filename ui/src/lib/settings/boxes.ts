// A list of a setting whose members are check boxes in a table.

/**
 * The members that are ticked, in the order of the table. The boxes tell them, because an earlier tick may not be part of
 * the setting yet.
 */
export function ticked(box: HTMLInputElement): string {
  const boxes = box.closest("table")?.querySelectorAll<HTMLInputElement>(`input[name="${box.name}"]`) ?? [];
  return Array.from(boxes)
    .filter(({ checked }) => checked)
    .map(({ value }) => value)
    .join(",");
}
