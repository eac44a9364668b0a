// Short sentences about commands that succeeded, shown for a few seconds and read out by screen readers.
import { onArrival } from "./environment.svelte";

interface Notice {
  id: number;
  text: string;
}

const SHOWN_MS = 6000;
const AT_MOST = 3;

let nextId = 0;
export const notices = $state<{ shown: Notice[] }>({ shown: [] });

export function notice(text: string): void {
  const id = nextId++;
  notices.shown = [...notices.shown, { id, text }].slice(-AT_MOST);
  setTimeout(() => {
    notices.shown = notices.shown.filter((other) => other.id !== id);
  }, SHOWN_MS);
}

// A change of the environment removes all notices, so that no notice is shown in the wrong environment.
onArrival(() => {
  notices.shown = [];
});
