// The worth of a typed sum of Bitcoin, computed by the gateway.
import { host } from "./host";
import { money } from "./language/money";

/** A sentence with the present worth of a sum; empty without a sum or a currency. */
export async function worthOf(btcAmount: string, currency: string): Promise<string> {
  if (btcAmount === "" || currency === "") return "";
  const { worth } = await host().call({
    command: "estimatePayout",
    anomalyId: null,
    btcAmount,
    fiatAmount: null,
    currency,
    address: null,
  });
  return worth ? ` Worth ${money(worth)} now.` : "";
}
