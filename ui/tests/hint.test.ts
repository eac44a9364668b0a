import { fireEvent, screen } from "@testing-library/svelte";
import { expect, test } from "vitest";
import { anomaly } from "./fixture";
import { host, open } from "./panel";

test("a hint shows once its field has the focus, and stays, so that no button moves", async () => {
  host.reply("listAnomalies", { items: [anomaly({ notified: false })], itemsCount: 1 });
  open("#/test/anomalies");
  await fireEvent.click(await screen.findByRole("button", { name: /Dismiss/ }));
  const why = await screen.findByLabelText("Why");
  const hint = screen.getByText("Any API key that may read this anomaly can read it.");
  expect(why.getAttribute("aria-describedby")).toBe(hint.id);
  expect(hint.className).toContain("waits");
  await fireEvent.focusIn(why);
  expect(hint.className).not.toContain("waits");
  await fireEvent.focusOut(why);
  expect(hint.className).not.toContain("waits");
});
