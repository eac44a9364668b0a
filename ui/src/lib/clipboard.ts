// Copies a text to the clipboard. In a web view without `navigator.clipboard` it uses `execCommand`.

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  // A modal dialog makes everything outside it inert, so the field must be inside the dialog.
  const parent = document.querySelector("dialog[open]") ?? document.body;
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  parent.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return copied;
}
