import { mount } from "svelte";
import "./font.css";
import "./app.css";
import "./fields.css";
import App from "./App.svelte";
import { environmentOfCustomer } from "./lib/customer";
import { setTransport } from "./lib/host";
import { tauriTransport } from "./lib/host/tauri";
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
  // If the call fails, the window still opens, and each screen shows the error.
  const running = await tauriTransport.running().catch(() => undefined);
  mount(App, { target, props: running ? { running } : {} });
}
