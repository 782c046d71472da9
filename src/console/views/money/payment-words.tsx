import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { State, type Tone } from '../../design/tag.tsx';

export type WalletPayment = ReadOf<'/admin/payments'>['data'][number];

export const PAYMENT_WORDS: Readonly<Record<WalletPayment['state'], { readonly tone: Tone; readonly word: string }>> = {
  settling: { tone: 'quiet', word: 'Settling' },
  captured: { tone: 'quiet', word: 'Running' },
  settled: { tone: 'good', word: 'Settled' },
  unknown: { tone: 'warn', word: 'Unknown' },
  failed: { tone: 'bad', word: 'Failed' },
};

const PURPOSES: Readonly<Record<WalletPayment['purpose'], string>> = {
  chat: 'A request',
  topup: 'A top-up',
  keys: 'A key',
};
export const purposeOf = ({ purpose }: WalletPayment): string => PURPOSES[purpose];

export const PaymentState = ({ state }: Pick<WalletPayment, 'state'>) => {
  const { tone, word } = PAYMENT_WORDS[state];
  return <State tone={tone}>{word}</State>;
};

/** Writes Credits in USD, as the books do; null where they know no worth. */
export function useUsdOf(): (credits: number) => string | null {
  const { data } = useResource('/admin/ledger');
  const known = data?.funds.find(({ limit_credits }) => limit_credits > 0);
  const worth = known
    ? Number(known.limit_usd) / known.limit_credits
    : data && data.charged_credits > 0
      ? Number(data.charged_usd) / data.charged_credits
      : null;
  return (credits) => (worth === null ? null : String(Math.round(credits * worth * 1e12) / 1e12));
}

export const ADDRESS = /^0x[0-9a-f]{40}$/i;
export const shortAddress = (address: string): string => `${address.slice(0, 8)}…${address.slice(-6)}`;
