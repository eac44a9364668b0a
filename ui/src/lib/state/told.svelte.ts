// A secret that is told once. It belongs to no screen, so that leaving a screen cannot destroy it.
import { keepApart } from "./environment.svelte";

interface Secret {
  title: string;
  about: string;
  /** What Tillgate stores of it. */
  stored: string;
  rows: { label: string; value: string; secret?: boolean }[];
}

class Told {
  secret = $state.raw<Secret | undefined>(undefined);
}

export const told = new Told();

keepApart(
  () => told.secret,
  (secret) => {
    told.secret = secret;
  },
  () => undefined,
);
