import { WALLET_KEYS_A_DAY, WALLET_KEYS_MAX } from '../../access/terms.ts';
import { BODY_ERRORS, operation } from '../docs/operation.ts';
import * as examples from './examples.ts';
import * as schemas from './schemas.ts';

/** The documentation of `/v1/wallets`, `/v1/payments`, their routes for operators, and `/.well-known/x402`. */
const tag = 'payments';
export const PAYMENTS_TAG = { name: tag, description: 'Wallets of agents, and what they pay by x402' };
/** The meanings of IDs in paths, by a part of the path. */
export const PAYMENT_IDS = [
  ['/payments/', 'The ID of a payment: `pay_…`.'],
  ['/wallets/', 'The address of a wallet: `0x` and 40 hexadecimal digits.'],
] as const;

/** The errors of a request that may be paid for by x402. */
export const FUNDING_ERRORS = [
  'payment_required',
  'payment_invalid',
  'agent_wallet_mismatch',
  'unsupported_x402_version',
  'payment_unavailable',
  'payment_unsettled',
] as const;
/** Errors of routes where a signature pays, or proves a wallet. */
const SIGNED = [
  ...BODY_ERRORS,
  'unknown_field',
  'not_found',
  'payment_required',
  'payment_invalid',
  'payment_unavailable',
  'payment_unsettled',
  'unsupported_x402_version',
  'in_flight',
  'idempotency_answer_unavailable',
] as const;
const REPEAT =
  'The same signature gets the same answer, key and all, for 24 hours, with the header `x-signalbox-replayed: true`.';

export const TOP_UP = operation({
  access: 'key',
  counts: true,
  summary: 'Pay in advance',
  description: `Without the header \`PAYMENT-SIGNATURE\` it answers 402 and says by x402 what is to be signed; with it the payment is settled, and all of it is balance of the wallet: no fee is added. The first top-up of a wallet gives a key, which spends that balance without another signature. ${REPEAT}`,
  tag,
  pays: true,
  answer: {
    status: 201,
    schema: schemas.WalletTopUp,
    description: 'It has arrived. The key is in this answer alone: what is kept is its hash.',
    example: examples.TOP_UP_ANSWER,
  },
  requests: examples.TOP_UP_REQUESTS,
  errorField: 'usd',
  errors: SIGNED,
});

export const WALLET_KEY = operation({
  access: 'key',
  counts: true,
  summary: 'Make a key of a wallet',
  description: `For a wallet that has paid before. Without the header \`PAYMENT-SIGNATURE\` it answers 402 with an amount of 0: the signature alone proves who holds the wallet, and nothing is paid or sent to the chain. A key of the wallet does not suffice, so that one that has leaked makes no others. A wallet has at most ${WALLET_KEYS_MAX} valid keys, and makes at most ${WALLET_KEYS_A_DAY} within 24 hours. ${REPEAT}`,
  tag,
  pays: true,
  answer: {
    status: 201,
    schema: schemas.WalletKey,
    description: 'The key, in this answer alone.',
    example: examples.WALLET_KEY_ANSWER,
  },
  requests: examples.WALLET_KEY_REQUESTS,
  errorField: 'name',
  errors: SIGNED,
});

export const WALLET = operation({
  access: 'key',
  summary: 'Your own wallet',
  description: 'The wallet’s balance, its keys and its last payments. For a key of a wallet; others get 403.',
  tag,
  answer: { schema: schemas.Wallet, description: 'The wallet.', example: examples.WALLET_ANSWER },
  errors: ['insufficient_permissions'],
});

export const PAYMENT = operation({
  access: 'key',
  summary: 'Look up a payment',
  description:
    'For a key of the wallet that paid, the API key that came with the payment, and operators; 404 for others.',
  tag,
  answer: { schema: schemas.Payment, description: 'The payment.', example: examples.PAYMENT_ANSWER },
  errors: ['insufficient_permissions', 'not_found'],
});

export const WELL_KNOWN = operation({
  access: 'open',
  summary: 'How payments are taken',
  description: 'Networks, prices and bounds, for agents that look before they ask. 404 while payments are off.',
  tag,
  answer: { schema: schemas.PaymentTerms, description: 'The terms.', example: examples.PAYMENT_TERMS_ANSWER },
  errors: ['not_found', 'rate_limit_exceeded'],
});

export const PAYMENTS = operation({
  access: 'admin',
  summary: 'List payments',
  description: 'The payments of agents, newest first.',
  answer: { schema: schemas.PaymentList, description: 'The payments.', example: examples.PAYMENTS_ANSWER },
  errorField: 'limit',
  errors: ['invalid_value', 'out_of_range'],
});

export const RECONCILE = operation({
  access: 'admin',
  body: 'none',
  summary: 'Ask the chain for a payment',
  description:
    'Asks the chain about a payment now. This happens by itself every few seconds while one is unknown. Reads no body.',
  answer: { schema: schemas.Payment, description: 'The payment as it stands.', example: examples.PAYMENT_ANSWER },
  errors: ['not_found', 'payment_unavailable'],
});

export const WALLET_STATUS = operation({
  access: 'admin',
  summary: 'Show a wallet',
  description: 'A wallet’s balance, its keys and its last payments, and whether it is blocked.',
  answer: { schema: schemas.WalletStatus, description: 'The wallet.', example: examples.WALLET_STATUS_ANSWER },
  errors: ['not_found'],
});

export const BLOCK = operation({
  access: 'admin',
  summary: 'Shut a wallet out',
  description:
    'At once: its keys and its signatures get 403. What it has paid stays its balance; requests under way end as they would.',
  answer: { schema: schemas.WalletStatus, description: 'The wallet.', example: examples.BLOCKED_WALLET_ANSWER },
  requests: examples.BLOCK_REQUESTS,
  errorField: 'note',
  errors: [...BODY_ERRORS, 'unknown_field', 'not_found'],
});

export const UNBLOCK = operation({
  access: 'admin',
  body: 'none',
  summary: 'Let a wallet in again',
  description: 'Doing it again changes nothing. Reads no body.',
  answer: { schema: schemas.WalletStatus, description: 'The wallet.', example: examples.WALLET_STATUS_ANSWER },
  errors: ['not_found', 'overloaded'],
});

export const CREDIT = operation({
  access: 'admin',
  summary: 'Credit a wallet',
  description:
    'Adds to the balance of a wallet, or takes back, whether or not it has a key. A line of `/admin/trail` tells it.',
  answer: { schema: schemas.WalletStatus, description: 'The wallet.', example: examples.WALLET_STATUS_ANSWER },
  requests: examples.CREDIT_REQUESTS,
  errorField: 'credits',
  errors: [...BODY_ERRORS, 'unknown_field', 'not_found'],
});
