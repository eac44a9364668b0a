// Whether the window is wide enough for a list and one of its records beside each other.

const query = window.matchMedia?.("(min-width: 1600px)");

export const wide = $state({ is: query?.matches ?? false });

query?.addEventListener("change", () => (wide.is = query.matches));
