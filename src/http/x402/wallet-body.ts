import { iso } from '../../core/clock.ts';
import { toCredits } from '../../core/credits.ts';
import { paymentBody } from './payments.ts';
import type { X402Gateway } from './services.ts';

const PAYMENTS_SHOWN = 20;

/** The figures, keys and last payments of a wallet. `isKnown`: it has paid, has a key or was granted something. */
export async function walletBody({ ledger, payments, keys }: X402Gateway, wallet: string) {
  const [valid, last] = await Promise.all([
    keys.ofHolder(wallet),
    payments.list({ state: null, payer: wallet, limit: PAYMENTS_SHOWN, before: null }),
  ]);
  const balance = ledger.balanceOf(wallet);
  const body = {
    object: 'wallet',
    wallet,
    balance_credits: toCredits(balance?.free ?? 0),
    held_credits: toCredits(balance?.held ?? 0),
    granted_credits: toCredits(balance?.limit ?? 0),
    keys: valid.map(({ id, name, createdAt, lastUsedAt }) => ({
      id,
      name,
      created_at: iso(createdAt),
      last_used_at: lastUsedAt === null ? null : iso(lastUsedAt),
    })),
    payments: last.map(paymentBody),
  };
  return { body, isKnown: balance !== null || valid.length > 0 || last.length > 0 };
}
