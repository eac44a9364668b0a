// Short sentences about recent acts, shown for a few seconds and read out by screen readers.
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

// A change of the environment drops all notices, so that none is read under the other environment.
onArrival(() => {
  notices.shown = [];
});
