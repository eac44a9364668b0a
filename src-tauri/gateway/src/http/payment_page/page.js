"use strict";
(() => {
  const payment = document.getElementById("payment");
  let countdown, moveOn;

  // The server tells how much time is left; only its passing is measured here, so that a customer's
  // wrong clock shows nothing wrong.
  const start = () => {
    clearInterval(countdown);
    clearTimeout(moveOn);
    const left = document.getElementById("left");
    if (left) {
      const end = performance.now() + 1000 * Number(left.dataset.seconds);
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
    const back = document.getElementById("back");
    if (back) moveOn = setTimeout(() => location.assign(back.href), 1000 * Number(back.dataset.after));
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
      // In a frame, or without TLS, the clipboard may be closed to us: the text is selected then.
      select(value);
      if (!document.execCommand("copy")) return;
    }
    const before = button.textContent;
    button.textContent = button.dataset.copied;
    setTimeout(() => (button.textContent = before), 1500);
  });

  const follow = () => {
    const events = new EventSource(location.pathname.replace(/\/$/, "") + "/events");
    events.addEventListener("payment", (event) => {
      const { html } = JSON.parse(event.data);
      payment.innerHTML = html;
      start();
    });
    // The browser tries again by itself, unless the server refused.
    events.addEventListener("error", () => {
      if (events.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 15000);
    });
  };

  start();
  follow();
})();
