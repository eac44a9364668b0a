// The time of the newest event that a person saw behind the bell. It is kept on this computer, for each installation and
// environment.

const key = (environment: string, folder: string) => `tillgate.seen.${environment}.${folder}`;

/** Counts the changes of the stored times, so that the bell's number follows them. */
const changes = $state({ count: 0 });

/** The time of the newest event that was seen, ISO 8601; empty if none was. */
export function seenUntil(environment: string, folder: string): string {
  void changes.count;
  return localStorage.getItem(key(environment, folder)) ?? "";
}

export function markSeen(environment: string, folder: string, time: string): void {
  localStorage.setItem(key(environment, folder), time);
  changes.count += 1;
}
