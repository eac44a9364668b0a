// The transport of the shipped program: Tauri's inter-process calls, never the network.
import { invoke } from "@tauri-apps/api/core";
import { listen } from "@tauri-apps/api/event";
import type { Host } from "./index";

export const tauriHost: Host = {
  call: (command) => invoke("console", { command }),

  shell: async (act) => {
    await invoke("console", { command: { command: act } });
  },

  on(event, heard) {
    const unlisten = listen(event, () => heard());
    return () => void unlisten.then((stop) => stop());
  },
};
