// The colours of the window: those of the system, or light or dark by choice. The choice is kept on this computer.

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "theme";

const isDark = window.matchMedia?.("(prefers-color-scheme: dark)");

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === value) ?? "system";
}

export const theme = $state<{ chosen: Theme }>({ chosen: stored() });

/** Sets the colours for the choice. The style sheet reads the attribute. */
function show(): void {
  const dark = theme.chosen === "system" ? isDark?.matches === true : theme.chosen === "dark";
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
}

export function chooseTheme(chosen: Theme): void {
  theme.chosen = chosen;
  localStorage.setItem(KEY, chosen);
  show();
}

/** Shows the stored choice, and follows the system from then on. Called once, before the window draws. */
export function followTheme(): void {
  show();
  isDark?.addEventListener("change", show);
}
