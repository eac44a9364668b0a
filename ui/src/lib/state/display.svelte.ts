// The environment whose sales the customer's window shows on the second display; undefined while the window is closed.
import type { Environment } from "./environment.svelte";

export const display = $state<{ environment: Environment | undefined }>({ environment: undefined });
