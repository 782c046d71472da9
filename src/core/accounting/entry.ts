import type { Microcredits } from '../credits.ts';
import type { Usage } from '../usage.ts';

/** A model, its provider and its price. Each is made once: the ledger knows it by identity. */
export interface Tariff {
  readonly model: string;
  readonly provider: string;
  /** The provider's own name of the model. */
  readonly upstream: string;
  /** JSON of the exact price, so that a cost can be computed again from the entry alone. */
  readonly price: string;
}

/** One attempt at an upstream and its cost. */
export interface EntryLine {
  readonly tariff: Tariff;
  readonly usage: Usage;
  /** True when tokens were counted here, not reported by the upstream. */
  readonly estimated: boolean;
  readonly cost: Microcredits;
  /** A report of the upstream that cannot be true, in place of which tokens were counted. Alarmed; null or absent for none. */
  readonly impossible?: Usage | null;
}

/** How a request was paid for, all its attempts together. */
export interface Settlement {
  /** The sum that the caller pays, never above the hold. */
  readonly charged: Microcredits;
  /** The sum that upstreams billed beyond that; the operator's loss. */
  readonly overrun: Microcredits;
}

/** Money that came into a holder's balance from outside. */
export interface Deposit {
  /** Microcredits that arrived; 0 where only a fee is given back. */
  readonly paid: Microcredits;
  /** Microcredits of it that the operator keeps for its settlement; negative for a fee that is given back. */
  readonly fee: Microcredits;
  /** ID of the payment, for the journal. */
  readonly note: string;
}

/** Throws RangeError for an impossible deposit, a mistake in the program. A negative fee is given back. */
export function checkDeposit({ paid, fee }: Pick<Deposit, 'paid' | 'fee'>): void {
  const isPossible = Number.isSafeInteger(paid) && Number.isSafeInteger(fee) && paid >= 0 && fee <= paid;
  if (!isPossible) throw new RangeError(`cannot book a deposit of ${paid} with a fee of ${fee}`);
}

/** The subject of an entry, by names such as `key`, `team`, `user`, `selector`, `session`, `agent`, `holder` and `label:project`. Made once: books may remember it by identity. */
export type Dimensions = Readonly<Record<string, string>>;

/** The prefix of the dimensions that are labels of a key. */
export const LABEL = 'label:';

/** The labels among dimensions, by their names. */
export function labelsOf(dimensions: Dimensions): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const name of Object.keys(dimensions)) {
    if (name.startsWith(LABEL)) labels[name.slice(LABEL.length)] = dimensions[name]!;
  }
  return labels;
}
