import { mount } from "svelte";
import "./app.css";
import App from "./App.svelte";
import { setHost } from "./lib/host";
import { tauriHost } from "./lib/host/tauri";

setHost(tauriHost);
const target = document.getElementById("app");
if (target) mount(App, { target });
