// Opens the panel on a test host, which gives the replies that a test sets.
import { render } from "@testing-library/svelte";
import { beforeEach } from "vitest";
import App from "../src/App.svelte";
import { setTransport } from "../src/lib/host";
import { drafts, emptyDraft } from "../src/lib/state/drafts.svelte";
import { showEnvironment } from "../src/lib/state/environment.svelte";
import { books, firstChoice } from "../src/lib/state/books.svelte";
import { allPayments, lists } from "../src/lib/state/lists.svelte";
import { notices } from "../src/lib/state/notices.svelte";
import { newSecret } from "../src/lib/state/newSecret.svelte";
import { FixtureHost } from "./host";

/** The host of the present test. */
export let host: FixtureHost;

beforeEach(() => {
  host = new FixtureHost();
  setTransport(host);
  localStorage.clear();
  showEnvironment("test");
  newSecret.secret = undefined;
  notices.shown = [];
  Object.assign(books, firstChoice());
  lists.payments = allPayments();
  lists.payouts = { search: "", wanted: "", offset: 0 };
  drafts.payout = emptyDraft();
  lists.anomalies = { open: true, offset: 0 };
});

/** Opens the window at a screen. */
export function open(hash: string) {
  location.hash = hash;
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  render(App);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}
