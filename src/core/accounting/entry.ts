import type { Microcredits } from '../money/credits.ts';
import type { Usage } from '../money/usage.ts';

/** A model, its provider and its price. Create each tariff once, because the ledger compares tariffs by object identity. */
export interface Tariff {
  readonly model: string;
  readonly provider: string;
  /** The provider's own name of the model. */
  readonly upstream: string;
  /** JSON of the exact price, so that the cost can be computed again from the ledger entry alone. */
  readonly price: string;
}

/** One attempt at an upstream model, with its cost. */
export interface EntryLine {
  readonly tariff: Tariff;
  readonly usage: Usage;
  /** True if Signalbox counted the tokens, false if the upstream reported them. */
  readonly estimated: boolean;
  readonly cost: Microcredits;
  /** The moment that decided the price, ms since 1970; absent for a price that does not change with time. */
  readonly pricedAt?: number;
  /** The cost that the upstream states in its answer, which is compared with `cost`; absent if it states none. */
  readonly stated?: Microcredits | undefined;
  /** The tier whose price applied although the answer does not state it (`assumedTier`); absent for a tier that it states. */
  readonly assumedTier?: string | undefined;
  /**
   * A usage report of the upstream that cannot be true. If the upstream's usage cannot be true, Signalbox counts the tokens itself and
   * raises an alarm. `impossible` is null or absent if the upstream reported no such usage.
   */
  readonly impossible?: Usage | null;
}

/** How a request was paid for, all its attempts together. */
export interface Settlement {
  /** The amount that the caller pays. The charged amount never exceeds the hold. */
  readonly charged: Microcredits;
  /** The amount that upstreams billed beyond `charged`. The operator pays the overrun. */
  readonly overrun: Microcredits;
}

/** Money that a holder's balance receives from outside. */
export interface Deposit {
  /** Microcredits that arrived; 0 if the deposit only refunds a fee. */
  readonly paid: Microcredits;
  /** Microcredits that the operator keeps for the settlement of the payment; negative if a fee is refunded. */
  readonly fee: Microcredits;
  /** ID of the payment, for the journal. */
  readonly note: string;
}

/** Throws RangeError for an impossible deposit, which is a bug in Signalbox. A negative fee of a deposit is a refund. */
export function checkDeposit({ paid, fee }: Pick<Deposit, 'paid' | 'fee'>): void {
  const isPossible = Number.isSafeInteger(paid) && Number.isSafeInteger(fee) && paid >= 0 && fee <= paid;
  if (!isPossible) throw new RangeError(`cannot book a deposit of ${paid} with a fee of ${fee}`);
}

/**
 * The dimensions by which reports group an entry, such as `key`, `team`, `user`, `selector`, `session`, `agent`, `holder` and
 * `label:project`. Create each `Dimensions` object once, because the ledger may cache it by identity.
 */
export type Dimensions = Readonly<Record<string, string>>;

/** Prefix of the dimensions that are labels of a key. */
export const LABEL = 'label:';

/** Returns the key labels among the dimensions, under their names without the prefix. */
export function labelsOf(dimensions: Dimensions): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const name of Object.keys(dimensions)) {
    if (name.startsWith(LABEL)) labels[name.slice(LABEL.length)] = dimensions[name]!;
  }
  return labels;
}
