// A fee rate of the person's own, with the fee that the gateway estimates for it.
import type { BtcView } from "../bindings";
import { Live } from "./live.svelte";
import { Typed } from "./typed.svelte";
import { btc } from "./unit.svelte";

export class OwnRate<Fee> {
  /** The rate in the form, in sat/vB. */
  rate = $state<number | null>(null);
  readonly #estimate: Live<{ asked: number; fee: Fee } | undefined>;

  constructor(estimate: (rate: number) => Promise<Fee>) {
    const typed = new Typed(() => this.rate);
    this.#estimate = new Live(async () => {
      const asked = typed.value;
      return typeof asked === "number" ? { asked, fee: await estimate(asked) } : undefined;
    });
  }

  /** The reason why there is no estimate. */
  get problem() {
    return typeof this.rate === "number" ? this.#estimate.error : undefined;
  }

  /** The estimate for the rate in the form; undefined while only the estimate for an earlier rate is known. */
  get fee(): Fee | undefined {
    const known = this.#estimate.value;
    return !this.problem && known?.asked === this.rate ? known?.fee : undefined;
  }
}

/** The part of an estimate that may be unusual. */
interface EstimatedFee {
  pays: BtcView;
  abovePays: boolean;
  cap: number;
  aboveCap: boolean;
}

/** The agreement of a person to an unusual fee. */
export class FeeAgreement {
  /** The warning that the person agreed to. Another warning needs another agreement. */
  #agreedTo = $state<string | undefined>(undefined);
  readonly #fee: () => EstimatedFee | undefined;

  constructor(fee: () => EstimatedFee | undefined) {
    this.#fee = fee;
  }

  /** Why the fee is unusual; undefined for a usual fee. */
  get warning(): string | undefined {
    const fee = this.#fee();
    const above = [
      fee?.abovePays ? `The fee is more than the ${btc(fee.pays)} that the transaction pays out.` : "",
      fee?.aboveCap ? `The fee is above the highest rate that you set, ${fee.cap} sat/vB.` : "",
    ];
    return above.join(" ").trim() || undefined;
  }

  get isAgreed(): boolean {
    return this.#agreedTo === this.warning;
  }

  set isAgreed(agrees: boolean) {
    this.#agreedTo = agrees ? this.warning : undefined;
  }

  /** Whether the fee is unusual and the person has not agreed. */
  get isMissing(): boolean {
    return this.warning !== undefined && !this.isAgreed;
  }
}
