import { type Static, Type } from '@sinclair/typebox';
import { payeeAddress, tokenAddress, walletAddress } from '../../admin/payments.ts';
import { keptText } from '../../admin/terms.ts';
import { walletBalance } from '../../admin/wallets.ts';
import { PlatformPayment } from '../../core/decision/platform.ts';
import * as field from '../../core/define/fields.ts';

/** More than any top-up can be. */
const AMOUNT_MAX = 1_000_000_000;

const payment = (description: string) => Type.Number({ exclusiveMinimum: 0, maximum: AMOUNT_MAX, description });
const keyName = keptText('The name of the new key.', 'agent-7');

/** The body of `POST /v1/wallets/topup`. */
export const TopUpRequest = field.closed(
  'A top-up.',
  field.allOptional({
    usd: payment('The amount to pay in, in US dollars. Send either `usd` or `credits`.'),
    credits: payment('The amount to pay in, in Credits. Send either `credits` or `usd`.'),
    name: keyName,
    new_key: Type.Boolean({
      default: false,
      description: 'Whether to create another key in addition to the existing keys of the wallet.',
    }),
  }),
);
export type TopUpRequest = Static<typeof TopUpRequest>;

/** The body of `POST /v1/wallets/keys`. */
export const WalletKeyRequest = field.closed(
  'The key to create.',
  field.allOptional({
    name: keyName,
    revoke_others: Type.Boolean({ default: false, description: 'Whether to revoke all other keys of the wallet.' }),
  }),
);
export type WalletKeyRequest = Static<typeof WalletKeyRequest>;

const keySecret = (description: string) => field.text(description, 'sb_live_k7mw2pq9x4ta_…');
const keyId = field.text('The ID of the key. The ID is not secret.', 'k7mw2pq9x4ta');

export const WalletTopUp = field.named('WalletTopUp', 'A top-up that has arrived.', {
  object: field.always('wallet.topup'),
  wallet: walletAddress,
  paid_credits: field.credits('The amount paid in.', 1_000),
  balance_credits: walletBalance,
  key: field.orNull(
    keySecret(
      'The secret of the key. Send it as `Authorization: Bearer …` to pay for requests from the balance. The server stores only its hash.',
    ),
    'Null if the wallet already has a key and the request wants no other, or if the wallet has the maximum number of keys.',
  ),
  key_id: field.orNull(keyId, 'Null if there is no `key`.'),
  payment: PlatformPayment,
});

export const WalletKey = field.named('WalletKey', 'A new key of a wallet. Only this answer contains its secret.', {
  object: field.always('wallet.key'),
  wallet: walletAddress,
  id: keyId,
  name: field.text('The requested name.', 'agent-7'),
  key: keySecret('The secret of the key. Send it as `Authorization: Bearer …`. The server stores only its hash.'),
  revoked: field.count('The number of other keys that were revoked.', 1),
});

const dollars = (description: string, example: number) => field.figure(`${description} In US dollars.`, example);

export const PaymentTerms = field.named('PaymentTerms', 'How this gateway accepts payments through x402.', {
  x402Version: Type.Literal(2, { description: 'The version of x402.' }),
  schemes: field.textList('Of x402.', ['exact']),
  payment_flow: Type.Literal('upfront', { description: 'A payment is settled before its request runs.' }),
  networks: field.rows('The networks in the order in which they are offered.', {
    network: field.text('CAIP-2.', 'eip155:84532'),
    asset: field.shape('The token with which payments are made.', {
      address: tokenAddress,
      name: field.text('The name in its EIP-712 domain.', 'USDC'),
      version: field.text('The version in its EIP-712 domain.', '2'),
      decimals: Type.Integer({ description: 'The decimals of its atomic unit.', examples: [6] }),
    }),
    pay_to: payeeAddress('The payee.'),
    ready: field.flag('Whether payments on this network are possible now.', true),
  }),
  usd_per_credit: dollars('The price of a Credit.', 0.001),
  quote: field.shape('How quotes for requests are made.', {
    ttl_seconds: field.figure('How long a quote can be paid.', 120),
    max_usd: dollars('The maximum quote for one request.', 1),
    min_charge_usd: dollars(
      'The minimum amount of a settlement. If the price is lower, the rest becomes balance.',
      0.001,
    ),
    settle_fee_usd: dollars('The amount that a settlement adds to the price of a request.', 0.001),
  }),
  prepaid: field.orNull(
    Type.Object({ min_usd: dollars('The least top-up.', 1), max_usd: dollars('The greatest.', 100) }),
    'Top-ups; null if they are off.',
  ),
  agent_wallet_required: field.flag('Whether a request without a key must name its `agent_wallet`.'),
  resources: field.rows('The resources that need no API key.', {
    method: field.text('Of HTTP.', 'POST'),
    path: field.text('Of the route.', '/v1/chat/completions'),
    description: field.text('What is paid for.', 'Chat completions.'),
  }),
  refunds: field.text(
    'What happens to the unused part of a payment.',
    'The unused part of a payment becomes the balance of the wallet.',
  ),
});
