import type { ValueOf } from '../core/define/field.ts';
import * as f from '../core/define/fields.ts';
import { refuse } from '../core/errors.ts';
import { idText, parseId } from '../core/id.ts';
import { ADDRESS_FORM, ADDRESS_PATTERN, addressOf } from '../core/money/holder-address.ts';
import {
  PAYMENT_PURPOSES,
  PAYMENT_STATES,
  type PaymentTable,
  type Payment as StoredPayment,
} from '../store/payments.ts';
import { notFound, operationsOn } from './kit/operation.ts';
import { findPayment, listPayments, type ReconcilingSource, reconcilePayment } from './use-cases/payments.ts';

/** The services that operations on payments use. */
export interface PaymentServices extends ReconcilingSource {
  readonly payments: ReconcilingSource['payments'] & Pick<PaymentTable, 'list'>;
}
const operation = operationsOn<PaymentServices>();

const LIMIT = 100;
const LIMIT_MAX = 1_000;

const WALLET = '0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b';
export const walletAddress = f.text('Address of the wallet, in lower case.', WALLET);
export const tokenAddress = f.text('Address of the token contract.', '0x036CbD53842c5426634e7929541eC2318f3dCF7e');
export const payeeAddress = (description: string) => f.text(description, '0x1d2c3b4a5f6e7d8c9b0a1f2e3d4c5b6a7f8e9d0c');

export const Payment = f.named('Payment', 'A payment through x402, with its state.', {
  object: f.always('payment'),
  id: f.text('The ID of the payment.', 'pay_0a4x1wm3zk0'),
  state: f.word(
    PAYMENT_STATES,
    '`settling`: the payment is being settled. `captured`: the payment has arrived, and its request runs. `settled`: the whole payment is charged or credited to the balance. `unknown`: the payment may have arrived; Signalbox keeps checking the chain. `failed`: the payment will never arrive.',
    'settled',
  ),
  purpose: f.word(PAYMENT_PURPOSES, 'What was paid for: a completion, or a top-up of the balance.'),
  network: f.text('CAIP-2.', 'eip155:84532'),
  asset: tokenAddress,
  payer: walletAddress,
  pay_to: payeeAddress('The address that received the payment.'),
  amount_atomic: f.as('amount', f.text('The amount paid, in atomic units of the asset.', '3250')),
  paid_credits: f.as('paid', f.credits('The value of the paid amount.', 3.25)),
  paid_usd: f.as('paid', f.usd('The same as `paid_credits`.', '0.00325')),
  fee_credits: f.as(
    'fee',
    f.credits(
      'The cost of settling the payment. The fee becomes 0 if it is waived, for example because the request was charged nothing.',
      1,
    ),
  ),
  fee_usd: f.as('fee', f.usd('The same as `fee_credits`.', '0.001')),
  charged_credits: f.as(
    'charged',
    f.orNull(
      f.credits(
        'The charge of the request; 0 if the payment was for no request. Null while the charge is unknown, and if the chain confirmed the payment only later.',
        1.09,
      ),
    ),
  ),
  charged_usd: f.as('charged', f.orNull(f.usd('The same as `charged_credits`.', '0.00109'))),
  balance_added_credits: f.as(
    'balanceAdded',
    f.orNull(
      f.credits(
        'The part that was credited to the balance of the wallet: the payment minus fee and charge. Null before the payment is settled.',
        1.16,
      ),
    ),
  ),
  balance_added_usd: f.as('balanceAdded', f.orNull(f.usd('The same as `balance_added_credits`.', '0.00116'))),
  decision_id: f.as(
    'decision',
    f.orNull(f.text('The decision of the request that was paid for; null for none.', 'dec_0a4x1wm3zk0')),
  ),
  transaction: f.orNull(f.text('Hash of the transaction; null while the hash is unknown.')),
  error: f.orNull(f.text('Why the payment failed or is unknown; null otherwise.')),
  created_at: f.as('created', f.moment('When the wallet offered the payment.')),
  updated_at: f.as('updated', f.moment('When the payment last changed.')),
});

export const PaymentList = f.named('PaymentList', 'Payments.', {
  object: f.always('list'),
  data: f.list(Payment, 'Payments, newest first. For the next page, send the last `id` as `before`.'),
  has_more: f.flag('Whether older payments match, too.', false),
});

/** A payment as answers show it. */
export const shownPayment = (payment: StoredPayment): ValueOf<typeof Payment> => {
  const { id, state, amount, paid, fee, charged, decision } = payment;
  return {
    ...payment,
    id: idText('pay_', id),
    amount: String(amount),
    balanceAdded: state === 'settled' ? paid - fee - (charged ?? 0) : null,
    decision: decision === null ? null : idText('dec_', decision),
  };
};

// The answer for an unknown payment and for the payment of another caller is the same, so that it does not reveal that the payment exists.
const unknown = () => notFound('No payment has this ID, or this key may not see it.');

/** The operation of `GET /v1/payments/{id}`, with which a payer reads a payment. */
const showPayment = operation({
  name: 'payment',
  http: 'GET /v1/payments/:id',
  action: 'payments.own',
  tag: 'Payments',
  command: false,
  summary: 'Show a payment',
  details:
    'Available to keys of the wallet that paid, to the API key that was sent with the payment, and to operators. Other keys get 404.',
  output: Payment,
  answer: 'The payment.',
  errors: ['insufficient_permissions'],
  run: async ({ payments }, { by, id }) => shownPayment((await findPayment(by, payments, id)) ?? unknown()),
});

/** The operations on the payments of agents. */
export const PAYMENT_OPERATIONS = [
  operation({
    name: 'payments list',
    http: 'GET /admin/payments',
    action: 'payments.read',
    command: false,
    summary: 'List payments',
    details: 'Lists the payments of agents, newest first.',
    input: f.closed('Which payments.', {
      state: f.optional(f.word(PAYMENT_STATES, 'Only payments in this state.')),
      wallet: f.optional(f.formed('Only payments of this wallet.', { pattern: ADDRESS_PATTERN })),
      limit: f.pageSize({ most: LIMIT_MAX, unlessGiven: LIMIT }),
      before: f.optional(f.formed('Only payments made before the payment with this ID.', { pattern: '^pay_' })),
    }),
    output: PaymentList,
    answer: 'The payments.',
    errorField: 'limit',
    async run({ payments }, { by }, { state = null, wallet, limit = LIMIT, before }) {
      const query = {
        state,
        payer: wallet === undefined ? null : payerIn(wallet),
        limit,
        before: before === undefined ? null : placeOf(before),
      };
      return await listPayments(by, payments, query, shownPayment);
    },
  }),
  operation({
    name: 'payments reconcile',
    http: 'POST /admin/payments/:id/reconcile',
    action: 'payments.change',
    command: false,
    // The check may take long, because the chain may answer slowly.
    isLong: true,
    summary: 'Check a payment on the chain',
    details:
      'Checks a payment on the chain now. While the outcome of a payment is unknown, the server also checks it every few seconds. The server ignores the body of the request.',
    output: Payment,
    answer: 'The current state of the payment.',
    errors: ['payment_unavailable'],
    run: async (source, { by, id }) => shownPayment((await reconcilePayment(by, source, id)) ?? unknown()),
  }),
  showPayment,
];

const payerIn = (text: string): string =>
  addressOf(text) ?? refuse('wallet', `\`wallet\` must be the address of a wallet: ${ADDRESS_FORM}.`);

const placeOf = (text: string): number =>
  parseId('pay_', text) ?? refuse('before', '`before` must be the ID of a payment, which begins with pay_.');
