import type { ReadOf } from '../../api/reads.ts';
import { State, type Tone } from '../../design/tag.tsx';
import { creditsText, Money } from '../../design/written.tsx';
import type { Column } from '../../kit/columns.tsx';

export type WalletPayment = ReadOf<'/admin/payments'>['data'][number];

export const PAYMENT_WORDS: Readonly<Record<WalletPayment['state'], string>> = {
  settling: 'Settling',
  captured: 'Running',
  settled: 'Settled',
  unknown: 'Unknown',
  failed: 'Failed',
};
const TONES: Readonly<Record<WalletPayment['state'], Tone>> = {
  settling: 'quiet',
  captured: 'quiet',
  settled: 'good',
  unknown: 'warn',
  failed: 'bad',
};

const PURPOSES: Readonly<Record<WalletPayment['purpose'], string>> = {
  chat: 'A request',
  topup: 'A top-up',
  keys: 'A key',
};
export const purposeOf = ({ purpose }: WalletPayment): string => PURPOSES[purpose];

/** Why a payment failed or its result is unknown. A code that only one facilitator uses is shown unchanged. */
const REASONS: Readonly<Record<string, string>> = {
  settlement_pending: 'The chain did not confirm the transaction in time.',
  facilitator_unreachable: 'The facilitator did not answer.',
  facilitator_unclear: 'The response of the facilitator was not clear.',
  not_on_chain_yet: 'The chain does not show the transaction yet.',
  sender_gone: 'The server that sent the payment has stopped.',
  settlement_broke_off: 'The settlement of the payment was interrupted.',
  authorization_cancelled: 'The wallet cancelled its authorization.',
  authorization_expired: 'The authorization of the wallet expired.',
  never_sent: 'The payment was never sent to the chain.',
};
export const reasonOf = (error: string): string => REASONS[error] ?? `Reason: \`${error}\`.`;

export const PaymentState = ({ state }: Pick<WalletPayment, 'state'>) => (
  <State tone={TONES[state]}>{PAYMENT_WORDS[state]}</State>
);

/** An amount in USD and in Credits; null if the amount is not known yet. */
export const amountShown = (usd: string | null, credits: number | null) =>
  credits !== null && (
    <>
      <Money {...{ usd, credits }} /> <span class="dim">· {creditsText(credits)}</span>
    </>
  );

const moneyOf = (usd: string | null, credits: number | null) => (credits === null ? null : { usd, credits });

/** The columns that every table of payments has: amount, state and time. */
export const PAYMENT_COLUMNS = {
  state: { head: 'State', cell: PaymentState, phone: 'second' },
  offered: { head: 'Offered', of: 'created_at', sort: false },
  amount: {
    head: 'Amount',
    money: ({ paid_usd, paid_credits }) => moneyOf(paid_usd, paid_credits),
    phone: 'fact',
    sort: false,
  },
  fee: {
    head: 'Fee',
    money: ({ state, fee_usd, fee_credits }) => (state === 'failed' ? null : moneyOf(fee_usd, fee_credits)),
    sort: false,
  },
  charged: {
    head: 'Charged',
    money: ({ charged_usd, charged_credits }) => moneyOf(charged_usd, charged_credits),
    sort: false,
  },
} as const satisfies Readonly<Record<string, Column<WalletPayment>>>;
