import type { Keys } from '../../access/keys.ts';
import type { Payments } from '../../payments/service.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Gateway } from '../../request/gateway.ts';

/** The keys by which wallets show themselves. */
export type WalletKeys = Pick<Keys, 'createForWallet' | 'ofWallet'>;

/** A gateway with all that takes payments by x402. */
export interface X402Gateway extends Gateway {
  readonly payments: Payments;
  readonly keys: WalletKeys;
  /** The runtime of a revision that quotes may still be open for; null for another. */
  leaseOf(revision: string): Runtime | null;
}
