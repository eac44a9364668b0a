// The script of the customer's page, which the gateway serves. It must follow the payment even if a proxy delays
// events.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import script from "../../src-tauri/http/src/payment_page/page.js?raw";

/** A stand-in for `EventSource`, to which tests send events. */
class Stream extends EventTarget {
  static readonly CLOSED = 2;
  static last: Stream | undefined;
  readyState = 1;
  constructor(readonly url: string) {
    super();
    Stream.last = this;
  }
  tell(event: string, data: unknown = "") {
    this.dispatchEvent(new MessageEvent(event, { data: JSON.stringify(data) }));
  }
}

const pageOf = (at: number, html: string) => `<main><div id="payment" data-at="${at}">${html}</div></main>`;
const shown = () => document.getElementById("payment")?.textContent;
const asked = vi.fn<(path: string) => Promise<Response>>();

/** Sets the page that the gateway returns to `fetch`. */
function answers(at: number, html: string) {
  asked.mockImplementation(() => Promise.resolve(new Response(pageOf(at, html))));
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Stream);
  vi.stubGlobal("fetch", asked);
  asked.mockReset();
  window.history.replaceState(null, "", "/pay/abc");
  document.body.innerHTML = pageOf(1, "waiting");
  new Function(script)();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("the customer's page", () => {
  test("fetches itself after ten seconds without an event", async () => {
    answers(5, "received");
    await vi.advanceTimersByTimeAsync(9_000);
    expect(asked).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(asked).toHaveBeenCalledTimes(1);
    expect(shown()).toBe("received");
  });

  test("keeps an address that the customer types until it is sent", () => {
    Stream.last?.tell("payment", { html: "Where to? <input name=address>", at: 2 });
    const field = document.querySelector("input")!;
    field.value = "bc1q";
    Stream.last?.tell("payment", { html: "one confirmation", at: 3 });
    expect(document.querySelector("input")?.value).toBe("bc1q");
    field.value = "";
    Stream.last?.tell("payment", { html: "two confirmations", at: 4 });
    expect(shown()).toBe("two confirmations");
  });

  test("is not fetched while heartbeats arrive", async () => {
    for (let seconds = 0; seconds < 60; seconds += 5) {
      Stream.last?.tell("alive");
      await vi.advanceTimersByTimeAsync(5_000);
    }
    expect(asked).not.toHaveBeenCalled();
  });

  test("ignores an older state that a proxy delayed", async () => {
    answers(5, "received");
    await vi.advanceTimersByTimeAsync(11_000);
    Stream.last?.tell("payment", { at: 3, html: "waiting" });
    expect(shown()).toBe("received");
    Stream.last?.tell("payment", { at: 7, html: "paid" });
    expect(shown()).toBe("paid");
  });

  test("fetches itself again after a failed fetch", async () => {
    asked.mockRejectedValueOnce(new TypeError("no connection"));
    await vi.advanceTimersByTimeAsync(11_000);
    expect(shown()).toBe("waiting");
    answers(9, "paid");
    await vi.advanceTimersByTimeAsync(11_000);
    expect(shown()).toBe("paid");
  });

  const paid = (status: string) =>
    `<p data-status="${status}">22.50 EUR</p><a id="back" href="#thanks" data-after="3">Back</a>`;

  test("tells the page that frames it each change of the status, and never moves on", async () => {
    const told = vi.fn();
    const frame = vi.spyOn(window, "parent", "get").mockReturnValue({ postMessage: told } as never);
    document.body.innerHTML = pageOf(1, `<p data-status="NEW">22.50 EUR</p>`);
    new Function(script)();
    Stream.last?.tell("payment", { at: 2, html: paid("CONFIRMED") });
    Stream.last?.tell("payment", { at: 3, html: `${paid("CONFIRMED")} ` });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(told.mock.calls).toEqual([
      [{ status: "NEW" }, "*"],
      [{ status: "CONFIRMED" }, "*"],
    ]);
    expect(location.hash).toBe("");
    frame.mockRestore();
  });

  test("moves on to the shop by itself if no page frames it", async () => {
    Stream.last?.tell("payment", { at: 2, html: paid("CONFIRMED") });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(location.hash).toBe("#thanks");
  });

  const timeLeft = (seconds: number) => `<time id="left" data-seconds="${seconds}"></time>`;

  test("takes the time left from each event, also if nothing else changed", () => {
    Stream.last?.tell("payment", { at: 2, html: timeLeft(1_781) });
    expect(shown()).toBe("29:41");
    Stream.last?.tell("payment", { at: 3, html: timeLeft(581) });
    vi.advanceTimersByTime(250);
    expect(shown()).toBe("9:41");
  });

  test("fetches itself at once when the customer returns to it", async () => {
    // The scripts of other tests listen to the document too, so only this one's listeners are called.
    const ofDocument = vi.spyOn(document, "addEventListener");
    const ofWindow = vi.spyOn(window, "addEventListener");
    vi.spyOn(document, "visibilityState", "get").mockReturnValue("visible");
    new Function(script)();
    const heard = ([, listener]: unknown[] = [], event: Partial<PageTransitionEvent> = {}) =>
      (listener as (event: Partial<PageTransitionEvent>) => void)(event);
    Stream.last?.tell("payment", { at: 2, html: timeLeft(1_781) });
    answers(3, timeLeft(581));
    heard(ofDocument.mock.lastCall);
    await vi.advanceTimersByTimeAsync(250);
    expect(shown()).toBe("9:41");
    answers(4, "paid");
    heard(ofWindow.mock.lastCall, { persisted: true });
    await vi.advanceTimersByTimeAsync(0);
    expect(shown()).toBe("paid");
  });

  test("stays when the customer comes back from the shop", async () => {
    const kept = vi.spyOn(window.history, "replaceState");
    Stream.last?.tell("payment", { at: 2, html: paid("CONFIRMED") });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(location.hash).toBe("#thanks");
    window.history.replaceState(kept.mock.lastCall?.[0], "", "/pay/abc");
    document.body.innerHTML = pageOf(3, paid("CONFIRMED"));
    new Function(script)();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(location.hash).toBe("");
  });

  test("keeps the language that its link names", async () => {
    window.history.replaceState(null, "", "/pay/abc/?lang=de");
    new Function(script)();
    expect(Stream.last?.url).toBe("/pay/abc/events?lang=de");
    answers(5, "bezahlt");
    await vi.advanceTimersByTimeAsync(11_000);
    expect(asked.mock.calls.at(-1)?.[0]).toContain("/pay/abc/?lang=de");
  });
});
