/** Prints an element alone. Its copy stands in the page only while it is printed. */
export function printAlone(paper: HTMLElement): void {
  document.querySelectorAll("body > .printed").forEach((earlier) => earlier.remove());
  const copy = paper.cloneNode(true) as HTMLElement;
  copy.classList.add("printed");
  document.body.append(copy);
  window.addEventListener("afterprint", () => copy.remove(), { once: true });
  window.print();
}
