import { HOLDER_LIMITS } from '../../access/terms.ts';
import { BODY_ERRORS } from '../../admin/kit/operation.ts';
import { routeDocs } from '../kit/route-docs.ts';
import * as examples from './examples.ts';
import * as schemas from './schemas.ts';

/** The documentation of the routes that a signature pays for, and of `/.well-known/x402`. */
const tag = 'Payments';
export const PAYMENTS_TAG = { name: tag, description: 'Wallets of agents, and their payments through x402' };
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
/** The errors of a request that can be paid through x402. */
export const FUNDING_ERRORS = [...PAYMENT_ERRORS, 'agent_wallet_mismatch'] as const;
const REPEATED = ['in_flight', 'idempotency_answer_unavailable'] as const;
/** The errors of routes on which a signature pays or proves who holds a wallet. */
const SIGNED = [...BODY_ERRORS, ...PAYMENT_ERRORS, ...REPEATED, 'unknown_field', 'not_found'] as const;
const REPEAT =
  'For 24 hours, the same signature gets the same answer including the key, with the header `x-signalbox-replayed: true`.';

const publicDocs = (docs: Parameters<typeof routeDocs>[0]) => routeDocs({ tag, ...docs });

export const TOP_UP = publicDocs({
  access: 'wallets.pay',
  counts: true,
  summary: 'Pay in advance',
  description: `Without the header \`PAYMENT-SIGNATURE\`, the answer is 402 with the x402 terms to sign. With the header, Signalbox settles the payment and adds it to the balance of the wallet, without a fee. The first top-up of a wallet returns a key that spends the balance without further signatures. ${REPEAT}`,
  pays: true,
  answer: {
    status: 201,
    schema: schemas.WalletTopUp,
    description: 'The payment has arrived. Only this answer contains the key, because the server stores only its hash.',
  },
  requests: examples.TOP_UP_REQUESTS,
  errorField: 'usd',
  errors: SIGNED,
});

export const WALLET_KEY = publicDocs({
  access: 'wallets.pay',
  counts: true,
  summary: 'Create a key for a wallet',
  description: `For a wallet that has paid before. Without the header \`PAYMENT-SIGNATURE\`, the answer is 402 with an amount of 0. The signature proves who holds the wallet; nothing is paid or sent to the chain. A key of the wallet is not enough to create keys, so a leaked key cannot create others. A wallet has at most ${HOLDER_LIMITS.unrevoked} valid keys, and creates at most ${HOLDER_LIMITS.aDay} within 24 hours. ${REPEAT}`,
  pays: true,
  answer: {
    status: 201,
    schema: schemas.WalletKey,
    description: 'The key. Only this answer contains it.',
  },
  requests: examples.WALLET_KEY_REQUESTS,
  errorField: 'name',
  errors: SIGNED,
});

export const WELL_KNOWN = publicDocs({
  access: 'open',
  summary: 'Show the payment terms',
  description:
    'Returns networks, prices and limits, for agents that want to know them before a payment. The answer is 404 if payments are off.',
  answer: { schema: schemas.PaymentTerms, description: 'The terms.' },
  errors: ['not_found', 'rate_limit_exceeded'],
});
