// The calls of the built-in sandbox, with the paths of the gateway's HTTP interface.
import { host } from "./host";

/** The sandbox's answer to the gateway's broadcasts. */
export type BroadcastFault = "ok" | "reject" | "timeout" | "forget";

export interface Faults {
  chainDown: boolean;
  broadcast: BroadcastFault;
  keysLocked: boolean;
  /** In sat/vB; null means the sandbox's own estimate. */
  feeRate: number | null;
  latencyMs: number;
}

export interface SandboxState {
  height: number;
  tipHash: string;
  mempool: string[];
  clock: string;
  /** An address where the customer can receive a refund. */
  customerAddress: string;
  faults: Faults;
}

async function post(path: string, body: Record<string, unknown> = {}): Promise<unknown> {
  return host().call({ command: "sandbox", method: "POST", path: `/sandbox/${path}`, body });
}

async function put(path: string, body: Record<string, unknown>): Promise<void> {
  await host().call({ command: "sandbox", method: "PUT", path: `/sandbox/${path}`, body });
}

export async function sandboxState(): Promise<SandboxState> {
  return (await host().call({
    command: "sandbox",
    method: "GET",
    path: "/sandbox",
    body: null,
  })) as SandboxState;
}

/** Makes the customer pay this amount, or the remaining sum if none is given. Returns the ids of the transactions. */
export async function pay(paymentId: string, btcAmount?: string): Promise<string[]> {
  const answer = await post(`payments/${paymentId}/pay`, btcAmount === undefined ? {} : { btcAmount });
  return (answer as { btcTxIds: string[] }).btcTxIds;
}

/** Makes the customer replace an unconfirmed transaction by one that pays the coins back to the customer. */
export async function doubleSpend(btcTxId: string): Promise<true> {
  await post(`transactions/${btcTxId}/replace`, { toCustomer: true });
  return true;
}

/** Drops a transaction from the mempool. The mempool refuses it until the next block. */
export async function evict(btcTxId: string): Promise<true> {
  await post(`transactions/${btcTxId}/evict`);
  return true;
}

/** Mines blocks. They include no transaction below `minFeeRate` (sat/vB), and none at all if `empty` is true. */
export async function mine(count: number, empty = false, minFeeRate?: number): Promise<true> {
  await post("blocks", minFeeRate === undefined ? { count, empty } : { count, empty, minFeeRate });
  return true;
}

export async function reorganise(depth: number, keepTransactions: boolean): Promise<true> {
  await post("reorg", { depth, keepTransactions });
  return true;
}

export async function advanceClock(advanceSeconds: number): Promise<true> {
  await post("clock", { advanceSeconds });
  return true;
}

/** Makes the customer send coins to any address. */
export async function send(address: string, btcAmount: string): Promise<true> {
  await post("send", { address, btcAmount });
  return true;
}

/** Sets the sandbox's rate of a currency. `null` removes the rate. */
export async function setRate(currency: string, rate: string | null): Promise<true> {
  await put("rates", { [currency]: rate });
  return true;
}

export async function setFaults(faults: Partial<Faults>): Promise<true> {
  await put("faults", faults);
  return true;
}
