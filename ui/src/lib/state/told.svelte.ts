// A secret that is shown once. It belongs to no screen, so that leaving a screen does not lose it.
import { keepApart } from "./environment.svelte";

interface Secret {
  title: string;
  about: string;
  /** Says which part of the secret Tillgate stores. */
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
