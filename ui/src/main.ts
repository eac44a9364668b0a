import { mount } from "svelte";
import "./app.css";
import App from "./App.svelte";
import { setTransport } from "./lib/host";
import { tauriTransport } from "./lib/host/tauri";

setTransport(tauriTransport);
const target = document.getElementById("app");
if (target) {
  // If this call fails, the window still opens, and each screen shows the error.
  const running = await tauriTransport.running().catch(() => undefined);
  mount(App, { target, props: running ? { running } : {} });
}
