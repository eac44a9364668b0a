// Adds the functions of a web view that jsdom lacks.
import { cleanup } from "@testing-library/svelte";
import { afterEach } from "vitest";

HTMLDialogElement.prototype.showModal = function () {
  this.open = true;
};
HTMLDialogElement.prototype.close = function () {
  if (!this.open) return;
  this.open = false;
  queueMicrotask(() => this.dispatchEvent(new Event("close")));
};

Element.prototype.scrollIntoView = () => undefined;

afterEach(() => {
  cleanup();
  location.hash = "";
});
