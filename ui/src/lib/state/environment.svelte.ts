// Which environment the window shows. Each has a panel of its own: what a person narrowed, typed and looked at in one is
// kept while the other is shown, and is neither shown nor sent there.
export type Environment = "test" | "production";

export const ENVIRONMENTS: readonly Environment[] = ["test", "production"];

const frame = $state<{ shown: Environment }>({ shown: "test" });

/** State that each environment has for itself. */
interface Kept {
  leave(environment: Environment): void;
  enter(environment: Environment): void;
}

const kept: Kept[] = [];
const arrivals: ((environment: Environment) => void)[] = [];

/** The environment that is shown. */
export function shown(): Environment {
  return frame.shown;
}

/** Whether this is an environment's name. */
export function isEnvironment(name: string | null | undefined): name is Environment {
  return name === "test" || name === "production";
}

/** How people call it. */
export function nameOf(environment: Environment): string {
  return environment === "test" ? "Test" : "Production";
}

/** Keeps state apart: `read` copies what there is, `write` puts it (back) in place, `begin` gives it to an environment that is
 * shown for the first time. */
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

/** Hears which environment is shown from now on. */
export function onArrival(heard: (environment: Environment) => void): void {
  arrivals.push(heard);
}

/** Shows another environment. No panel is mounted meanwhile: nothing of the one may read the other's state. */
export function showEnvironment(environment: Environment): void {
  if (environment === frame.shown) return;
  for (const one of kept) one.leave(frame.shown);
  frame.shown = environment;
  for (const one of kept) one.enter(environment);
  for (const heard of arrivals) heard(environment);
}
