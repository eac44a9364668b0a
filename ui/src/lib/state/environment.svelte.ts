// The environment that the window shows. A panel's state, such as filters, typed text and scroll positions, is kept
// while the other environment is shown. It is never shown in the other environment or sent to it.
export type Environment = "test" | "production";

export const ENVIRONMENTS: readonly Environment[] = ["test", "production"];

const frame = $state<{ shown: Environment }>({ shown: "test" });

/** A piece of state with its own value for each environment. */
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
 * Gives a piece of state its own value for each environment. `read` copies the present value, and `write` restores a
 * copy. `begin` makes the first value of an environment that was not shown before.
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

/** Calls `heard` each time after the shown environment has changed. */
export function onArrival(heard: (environment: Environment) => void): void {
  arrivals.push(heard);
}

/** Shows another environment. Call it while no panel is mounted, so that no panel reads the state of the other one. */
export function showEnvironment(environment: Environment): void {
  if (environment === frame.shown) return;
  for (const one of kept) one.leave(frame.shown);
  frame.shown = environment;
  for (const one of kept) one.enter(environment);
  for (const heard of arrivals) heard(environment);
}
