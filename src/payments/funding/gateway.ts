import type { Keys } from '../../access/keys.ts';
import type { FundingParts } from '../../gateway/money/funding.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import type { Payments } from '../service.ts';

/** The keys with which wallets authenticate. */
export type WalletKeys = Pick<Keys, 'createForHolder' | 'ofHolder'>;

/** The parts of a gateway that accepts x402 payments. */
export interface X402Parts extends FundingParts {
  readonly payments: Payments;
  readonly keys: WalletKeys;
  /**
   * The runtime of a revision for which quotes of any server may still be open; null for other revisions.
   * @throws StoreError, by rejecting
   */
  leaseOf(revision: string): Runtime | null | Promise<Runtime | null>;
}
