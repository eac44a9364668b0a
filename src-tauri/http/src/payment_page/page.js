"use strict";
(() => {
  const payment = document.getElementById("payment");
  const isFramed = window.parent !== window;
  let countdown, moveOn, told, end;
  let shown = payment.innerHTML;
  let shownAt = Number(payment.dataset.at);
  let heardAt = performance.now();

  // The server sends the time left, and only elapsed time is measured here. So a wrong clock of the
  // customer does no harm. A device that slept did not measure, so each answer sets the time anew.
  const setTimeLeft = (seconds) => (end = performance.now() + 1000 * seconds);

  const start = () => {
    clearInterval(countdown);
    clearTimeout(moveOn);
    const left = document.getElementById("left");
    if (left) {
      setTimeLeft(Number(left.dataset.seconds));
      const tick = () => {
        const seconds = Math.max(0, Math.ceil((end - performance.now()) / 1000));
        left.textContent = Math.floor(seconds / 60) + ":" + String(seconds % 60).padStart(2, "0");
        if (seconds === 0) {
          clearInterval(countdown);
          document.getElementById("open").remove();
          document.getElementById("over").hidden = false;
        }
      };
      tick();
      countdown = setInterval(tick, 250);
    }
    tell();
    const back = document.getElementById("back");
    // In a frame the shop's page decides what follows.
    if (!back?.dataset.after || isFramed || hasMovedOn(back.href)) return;
    moveOn = setTimeout(() => {
      history.replaceState({ movedOnTo: back.href }, "");
      location.assign(back.href);
    }, 1000 * Number(back.dataset.after));
  };

  // A customer who comes back from the shop wants to read this page.
  const hasMovedOn = (href) => history.state?.movedOnTo === href;

  // Tells the shop's page that frames this one. The message does not name the payment, because another page may frame a
  // shop that redirects to this page.
  const tell = () => {
    const { status, conflict } = payment.querySelector("[data-status]")?.dataset ?? {};
    if (!isFramed || !status || status + conflict === told) return;
    told = status + conflict;
    window.parent.postMessage(conflict ? { status, conflictSeen: true } : { status }, "*");
  };

  const select = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };

  payment.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const value = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(value.textContent);
    } catch {
      // In a frame, or without TLS, the clipboard may be blocked. The text is then selected.
      select(value);
      if (!document.execCommand("copy")) return;
    }
    const before = button.textContent;
    button.textContent = button.dataset.copied;
    setTimeout(() => (button.textContent = before), 1500);
  });

  // A proxy may delay events, so an old event may arrive after a newer answer.
  const show = (html, at) => {
    if (at < shownAt) return;
    // A typed address stays until it is sent.
    if (payment.querySelector("input")?.value) return;
    shownAt = at;
    const seconds = html.match(/data-seconds="(\d+)"/)?.[1];
    if (seconds) setTimeLeft(Number(seconds));
    if (still(html) === still(shown)) return;
    shown = html;
    payment.innerHTML = html;
    start();
  };
  const still = (html) => html.replace(/ data-seconds="\d+">[^<]*/, "");

  // Shows each event. Records when the last event or heartbeat arrived.
  const follow = () => {
    const events = new EventSource(location.pathname.replace(/\/$/, "") + "/events" + location.search);
    events.addEventListener("alive", () => (heardAt = performance.now()));
    events.addEventListener("payment", (event) => {
      heardAt = performance.now();
      const { html, at } = JSON.parse(event.data);
      show(html, at);
    });
    // The browser reconnects by itself, unless the server refused the request.
    events.addEventListener("error", () => {
      if (events.readyState === EventSource.CLOSED) setTimeout(follow, 15000);
    });
  };

  // Fetches the page after ten seconds without an event or heartbeat.
  const askAfterSilence = () => {
    if (performance.now() - heardAt >= 10000) ask();
  };
  const ask = async () => {
    heardAt = performance.now();
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const { innerHTML, dataset } = page.getElementById("payment");
      show(innerHTML, Number(dataset.at));
    } catch {
      // Without a connection the fetch is repeated later.
    }
  };

  start();
  follow();
  setInterval(askAfterSilence, 1000);
  // The customer returns to the page: from a wallet, from a phone that slept, or by the browser's Back.
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && ask());
  addEventListener("pageshow", (event) => event.persisted && ask());
})();
