// The events that a person saw behind the bell. They are kept on this computer, for each installation and environment.
// They are kept by name and not by time, because an event may be listed after a later one.
import type { NewsItem } from "../bindings";

const key = (environment: string, folder: string) => `tillgate.seen.${environment}.${folder}`;

/** Distinguishes an event from all others. A server that fails again has its former id, and another time. */
export const nameOf = ({ id, time }: Pick<NewsItem, "id" | "time">) => `${id} ${time}`;

/** Counts the changes of the stored events, so that the bell's number follows them. */
const changes = $state({ count: 0 });

/** The names of the events that were listed when a person last looked. */
export function seenEvents(environment: string, folder: string): string[] {
  void changes.count;
  return (localStorage.getItem(key(environment, folder)) ?? "").split("\n");
}

export function markSeen(environment: string, folder: string, events: NewsItem[]): void {
  localStorage.setItem(key(environment, folder), events.map(nameOf).join("\n"));
  changes.count += 1;
}
