import { mount } from "svelte";
import "./app.css";
import App from "./App.svelte";
import { environmentOfCustomer } from "./lib/customer";
import { setTransport } from "./lib/host";
import { tauriTransport } from "./lib/host/tauri";
import { learn } from "./lib/language/program";
import { showEnvironment } from "./lib/state/environment.svelte";
import { followTheme } from "./lib/state/theme.svelte";
import CustomerDisplay from "./lib/views/CustomerDisplay.svelte";

followTheme();
setTransport(tauriTransport);
const target = document.getElementById("app");
const ofCustomer = environmentOfCustomer(location.hash);
if (target && ofCustomer) {
  showEnvironment(ofCustomer);
  // The shell changes the URL's hash when the till's environment changes.
  window.addEventListener("hashchange", () => location.reload());
  mount(CustomerDisplay, { target });
} else if (target) {
  // If a call fails, the window still opens: each screen shows the error, and the gateway's sentences stay English.
  const [running, texts] = await Promise.all([
    tauriTransport.running().catch(() => undefined),
    tauriTransport.shell("texts", "test").catch(() => []),
  ]);
  learn(texts);
  mount(App, { target, props: running ? { running } : {} });
}
