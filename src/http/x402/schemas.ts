import { type Static, Type } from '@sinclair/typebox';
import * as field from '../../api/parts.ts';
import { PlatformPayment } from '../../api/platform.ts';
import { PAYMENT_STATES } from '../../store/payments.ts';
import { addedCredits, keptText } from '../schemas/keys.ts';

const PURPOSES = ['chat', 'topup', 'keys'] as const;
/** More than any top-up can be. */
const AMOUNT_MAX = 1_000_000_000;

const amount = (description: string) => Type.Number({ exclusiveMinimum: 0, maximum: AMOUNT_MAX, description });
const keyName = keptText('Name of the key that is made.', 'agent-7');
const note = keptText('A note, stored with it.', 'abuse, ticket 88');

/** The body of `POST /v1/wallets/topup`. */
export const TopUpRequest = field.partialBody('A top-up.', {
  usd: amount('The amount to pay in, in US dollars. Either this or `credits`.'),
  credits: amount('The amount to pay in, in Credits. Either this or `usd`.'),
  name: keyName,
  new_key: Type.Boolean({
    default: false,
    description: 'Whether another key is wanted beside those that the wallet has.',
  }),
});
export type TopUpRequest = Static<typeof TopUpRequest>;

/** The body of `POST /v1/wallets/keys`. */
export const WalletKeyRequest = field.partialBody('The key to make.', {
  name: keyName,
  revoke_others: Type.Boolean({ default: false, description: 'Whether to revoke all other keys of the wallet.' }),
});
export type WalletKeyRequest = Static<typeof WalletKeyRequest>;

/** The body of `POST /admin/wallets/{id}/block`. */
export const BlockRequest = field.partialBody('Why.', { note });

/** The body of `POST /admin/wallets/{id}/credit`. */
export const CreditRequest = field.body('A change of the balance.', {
  credits: addedCredits,
  note: Type.Optional(note),
});

const address = (description: string, example = '0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b') =>
  field.text(description, example);
const token = address('Contract of the token.', '0x036CbD53842c5426634e7929541eC2318f3dCF7e');
const PAYEE = '0x1d2c3b4a5f6e7d8c9b0a1f2e3d4c5b6a7f8e9d0c';
const wallet = address('Address of the wallet, in lower case.');
const keySecret = (description: string) => field.text(description, 'sb_live_k7mw2pq9x4ta_…');
const keyId = field.text('Names the key; no secret.', 'k7mw2pq9x4ta');

const payment = {
  object: field.always('payment'),
  id: field.text('Names the payment.', 'pay_0a4x1wm3zk0'),
  state: field.word(
    PAYMENT_STATES,
    '`settling`: it is being settled. `captured`: it has arrived, and its request runs. `settled`: all of it is charged or balance. `unknown`: it may have arrived; the chain will tell. `failed`: it never will.',
    'settled',
  ),
  purpose: field.word(PURPOSES, 'Its purpose: a completion, or a top-up.'),
  network: field.text('CAIP-2.', 'eip155:84532'),
  asset: token,
  payer: wallet,
  pay_to: address('Whom it was paid to.', PAYEE),
  amount_atomic: field.text('The amount paid, in atomic units of the asset.', '3250'),
  paid_credits: field.credits('The value of that amount.', 3.25),
  fee_credits: field.credits(
    'The cost of its settlement; 0 once waived, as for a request that was charged nothing.',
    1,
  ),
  charged_credits: field.figureOrNull(
    'The charge of its request, in Credits: 0 where none ran on it. Null before that is known, and where the chain has told later that it had arrived.',
    1.09,
  ),
  balance_added_credits: field.figureOrNull(
    'The part that became balance of the wallet, in Credits: paid less fee and charge. Null before it is settled.',
    1.16,
  ),
  decision_id: field.textOrNull('The decision that it paid for; null for none.', 'dec_0a4x1wm3zk0'),
  transaction: field.textOrNull('Hash of the transaction; null while none is known.'),
  error: field.textOrNull('Why it failed or is unknown; null otherwise.'),
  created_at: field.moment('When it was offered.'),
  updated_at: field.moment('When it last changed.'),
};

export const Payment = field.named('Payment', 'A payment by x402, with its state.', payment);

export const PaymentList = field.named('PaymentList', 'Payments.', {
  ...field.listOf(Payment, 'Newest first. For the next page send the last `id` as `before`.'),
  has_more: field.flag('Whether older payments match, too.', false),
});

const balance = {
  balance_credits: field.credits('The amount it may still spend, less the holds of running requests.', 996.75),
  held_credits: field.credits('The holds of running requests.', 0),
  granted_credits: field.credits(
    'All that was paid in or credited, less the fees of settlements and amounts taken back.',
    1_000,
  ),
};
const payments = field.arrayOf(Payment, 'The last 20, newest first.');

export const Wallet = field.named('Wallet', 'A wallet with its balance, keys and payments.', {
  object: field.always('wallet'),
  wallet,
  ...balance,
  keys: field.rows('Those that work.', {
    id: keyId,
    name: field.text('As it was asked for.', 'agent-7'),
    created_at: field.moment('When it was made.'),
    last_used_at: field.momentOrNull('When it was last let in; null for never.'),
  }),
  payments,
});

export const WalletStatus = field.named('WalletStatus', 'A wallet, as the operator sees it.', {
  ...Wallet.properties,
  is_blocked: field.flag('Whether the wallet is blocked.'),
});

export const WalletTopUp = field.named('WalletTopUp', 'A top-up that has arrived.', {
  object: field.always('wallet.topup'),
  wallet,
  paid_credits: field.credits('The amount paid in.', 1_000),
  balance_credits: balance.balance_credits,
  key: field.orNull(
    keySecret(
      'To be sent as `Authorization: Bearer …`: requests are then paid from the balance. Only its hash is kept.',
    ),
    'Null for a wallet that has a key already and did not ask for another, or has as many as it may.',
  ),
  key_id: field.orNull(keyId, 'Null where there is no `key`.'),
  payment: PlatformPayment,
});

export const WalletKey = field.named('WalletKey', 'A new key of a wallet, shown this once.', {
  object: field.always('wallet.key'),
  wallet,
  id: keyId,
  name: field.text('As it was asked for.', 'agent-7'),
  key: keySecret('To be sent as `Authorization: Bearer …`. Only its hash is kept.'),
  revoked: field.count('The number of other keys that were revoked.', 1),
});

const usd = (description: string, example: number) => field.figure(`${description} In US dollars.`, example);

export const PaymentTerms = field.named('PaymentTerms', 'How this gateway takes payments by x402.', {
  x402Version: Type.Literal(2, { description: 'The version of x402.' }),
  schemes: field.textList('Of x402.', ['exact']),
  payment_flow: Type.Literal('upfront', { description: 'A payment is settled before its request is carried out.' }),
  networks: field.rows('In the order in which they are offered.', {
    network: field.text('CAIP-2.', 'eip155:84532'),
    asset: field.shape('The asset of payments.', {
      address: token,
      name: field.text('Name of its EIP-712 domain.', 'USDC'),
      version: field.text('Version of its EIP-712 domain.', '2'),
      decimals: Type.Integer({ description: 'Decimals of its atomic unit.', examples: [6] }),
    }),
    pay_to: address('The payee.', PAYEE),
    ready: field.flag('Whether it can be paid on now.', true),
  }),
  usd_per_credit: usd('The price of a Credit.', 0.001),
  quote: field.shape('How requests are quoted for.', {
    ttl_seconds: field.figure('How long a quote can be paid.', 120),
    max_usd: usd('The most that one request is quoted for.', 1),
    min_charge_usd: usd('The least that is settled; the excess over the price becomes balance.', 0.001),
    settle_fee_usd: usd('The amount that a settlement adds to the price of a request.', 0.001),
  }),
  prepaid: field.orNull(
    Type.Object({ min_usd: usd('The least top-up.', 1), max_usd: usd('The greatest.', 100) }),
    'Top-ups; null where there are none.',
  ),
  agent_wallet_required: field.flag('Whether a request without a key must name its `agent_wallet`.'),
  resources: field.rows('The resources that need no API key.', {
    method: field.text('Of HTTP.', 'POST'),
    path: field.text('Of the route.', '/v1/chat/completions'),
    description: field.text('The thing to pay for.', 'Chat completions.'),
  }),
  refunds: field.text(
    'The use of the unused part of a payment.',
    'The unused part of a payment becomes the balance of the wallet.',
  ),
});
