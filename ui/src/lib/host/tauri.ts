// The transport of the desktop program. It uses Tauri's calls to the program's own process, and never the network.
import { invoke } from "@tauri-apps/api/core";
import { listen } from "@tauri-apps/api/event";
import type { Transport } from "./index";

export const tauriTransport: Transport = {
  call: (environment, command) => invoke("console", { environment, command }),

  shell: (act, environment, fields) =>
    invoke("console", { environment, command: { ...fields, command: act } }),

  running: () => invoke("console", { command: { command: "environments" } }),

  on(event, heard) {
    const unlisten = listen<unknown>(event, ({ payload }) => {
      heard(typeof payload === "string" ? payload : undefined);
    });
    return () => void unlisten.then((stop) => stop());
  },
};
