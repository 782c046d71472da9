import type { Keys } from '../../access/keys.ts';
import type { FundingParts } from '../../gateway/money/funding.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import type { Payments } from '../service.ts';

/** The keys by which wallets show themselves. */
export type WalletKeys = Pick<Keys, 'createForHolder' | 'ofHolder'>;

/** The parts of a gateway that take payments by x402. */
export interface X402Parts extends FundingParts {
  readonly payments: Payments;
  readonly keys: WalletKeys;
  /**
   * The runtime of a revision that quotes may still be open for, of this instance or another; null for another revision.
   * @throws StoreError, by rejecting
   */
  leaseOf(revision: string): Runtime | null | Promise<Runtime | null>;
}
