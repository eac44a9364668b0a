// Answers that follow the changes of the gateway.
import { screen, waitFor } from "@testing-library/svelte";
import { expect, test } from "vitest";
import { host, open } from "./panel";

test("changes that arrive before an answer lead to one more request after it", async () => {
  const answers: ((page: { items: []; itemsCount: number }) => void)[] = [];
  host.reply("listAnomalies", () => new Promise((resolve) => answers.push(resolve)));
  open("#/anomalies");
  await waitFor(() => expect(answers).toHaveLength(1));
  for (let change = 0; change < 5; change++) host.emit("changed");
  await Promise.resolve();
  expect(answers, "a request waits for the answer").toHaveLength(1);
  answers[0]?.({ items: [], itemsCount: 0 });
  expect(await screen.findByText("Nothing needs your attention")).toBeTruthy();
  await waitFor(() => expect(answers).toHaveLength(2));
  answers[1]?.({ items: [], itemsCount: 0 });
  host.emit("changed");
  await waitFor(() => expect(answers, "a later change is requested at once").toHaveLength(3));
});
