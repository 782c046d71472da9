import { HOLDER_LIMITS } from '../../access/terms.ts';
import { BODY_ERRORS } from '../../admin/kit/operation.ts';
import { routeDocs } from '../docs/route-docs.ts';
import * as examples from './examples.ts';
import * as schemas from './schemas.ts';

/** The documentation of the routes that a signature pays for, and of `/.well-known/x402`. */
const tag = 'Payments';
export const PAYMENTS_TAG = { name: tag, description: 'Wallets of agents, and their payments by x402' };
/** The meanings of IDs in paths, by a part of the path. */
export const PAYMENT_IDS = [
  ['/payments/', 'The ID of a payment: `pay_…`.'],
  ['/wallets/', 'The address of a wallet: `0x` and 40 hexadecimal digits.'],
] as const;

const PAYMENT_ERRORS = [
  'payment_required',
  'payment_invalid',
  'unsupported_x402_version',
  'payment_unavailable',
  'payment_unsettled',
] as const;
/** The errors of a request that may be paid for by x402. */
export const FUNDING_ERRORS = [...PAYMENT_ERRORS, 'agent_wallet_mismatch'] as const;
const REPEATED = ['in_flight', 'idempotency_answer_unavailable'] as const;
/** Errors of routes where a signature pays, or proves a wallet. */
const SIGNED = [...BODY_ERRORS, ...PAYMENT_ERRORS, ...REPEATED, 'unknown_field', 'not_found'] as const;
const REPEAT =
  'The same signature gets the same answer, key and all, for 24 hours, with the header `x-signalbox-replayed: true`.';

const publicDocs = (docs: Parameters<typeof routeDocs>[0]) => routeDocs({ tag, ...docs });

export const TOP_UP = publicDocs({
  access: 'wallets.pay',
  counts: true,
  summary: 'Pay in advance',
  description: `Without the header \`PAYMENT-SIGNATURE\`, the answer is 402 with the x402 terms to sign. With it, the payment is settled and becomes the balance of the wallet, without a fee. The first top-up of a wallet returns a key, which spends that balance without further signatures. ${REPEAT}`,
  pays: true,
  answer: {
    status: 201,
    schema: schemas.WalletTopUp,
    description: 'The payment has arrived. Only this answer has the key: the server stores only its hash.',
  },
  requests: examples.TOP_UP_REQUESTS,
  errorField: 'usd',
  errors: SIGNED,
});

export const WALLET_KEY = publicDocs({
  access: 'wallets.pay',
  counts: true,
  summary: 'Make a key of a wallet',
  description: `For a wallet that has paid before. Without the header \`PAYMENT-SIGNATURE\`, the answer is 402 with an amount of 0: the signature proves who holds the wallet, and nothing is paid or sent to the chain. A key of the wallet is not enough, so a leaked key cannot make others. A wallet has at most ${HOLDER_LIMITS.unrevoked} valid keys, and makes at most ${HOLDER_LIMITS.aDay} within 24 hours. ${REPEAT}`,
  pays: true,
  answer: {
    status: 201,
    schema: schemas.WalletKey,
    description: 'The key. Only this answer has it.',
  },
  requests: examples.WALLET_KEY_REQUESTS,
  errorField: 'name',
  errors: SIGNED,
});

export const WELL_KNOWN = publicDocs({
  access: 'open',
  summary: 'How payments are taken',
  description:
    'Returns networks, prices and limits, for agents that want to know them in advance. The answer is 404 while payments are off.',
  answer: { schema: schemas.PaymentTerms, description: 'The terms.' },
  errors: ['not_found', 'rate_limit_exceeded'],
});
