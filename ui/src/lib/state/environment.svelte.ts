// The environment shown in the window. A panel's state (filters, typed text, places in lists) is kept while the other
// environment is shown, and is never shown or sent there.
export type Environment = "test" | "production";

export const ENVIRONMENTS: readonly Environment[] = ["test", "production"];

const frame = $state<{ shown: Environment }>({ shown: "test" });

/** State that is kept for each environment apart. */
interface Kept {
  leave(environment: Environment): void;
  enter(environment: Environment): void;
}

const kept: Kept[] = [];
const arrivals: ((environment: Environment) => void)[] = [];

export function shown(): Environment {
  return frame.shown;
}

export function isEnvironment(name: string | null | undefined): name is Environment {
  return name === "test" || name === "production";
}

/** The environment's name for people. */
export function nameOf(environment: Environment): string {
  return environment === "test" ? "Test" : "Production";
}

/**
 * Keeps a piece of state apart for each environment. `read` copies the state, `write` puts it back, and `begin` makes
 * the first state of an environment that was not shown before.
 */
export function keepApart<T>(read: () => T, write: (value: T) => void, begin: () => T): void {
  const away: { [environment in Environment]?: { value: T } } = {};
  kept.push({
    leave: (environment) => {
      away[environment] = { value: read() };
    },
    enter: (environment) => {
      const back = away[environment];
      write(back ? back.value : begin());
    },
  });
}

/** Calls `heard` each time that another environment is shown. */
export function onArrival(heard: (environment: Environment) => void): void {
  arrivals.push(heard);
}

/** Shows another environment. Call it while no panel is mounted, so that no panel reads the other's state. */
export function showEnvironment(environment: Environment): void {
  if (environment === frame.shown) return;
  for (const one of kept) one.leave(frame.shown);
  frame.shown = environment;
  for (const one of kept) one.enter(environment);
  for (const heard of arrivals) heard(environment);
}
