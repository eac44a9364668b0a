// A new secret, which is shown only once. It is kept here, so that it survives a change of the screen.
import { keepApart } from "./environment.svelte";

interface Secret {
  title: string;
  about: string;
  /** A sentence that says which part of the secret Tillgate stores. */
  stored: string;
  rows: { label: string; value: string; secret?: boolean }[];
}

class NewSecret {
  secret = $state.raw<Secret | undefined>(undefined);
}

export const newSecret = new NewSecret();

keepApart(
  () => newSecret.secret,
  (secret) => {
    newSecret.secret = secret;
  },
  () => undefined,
);
