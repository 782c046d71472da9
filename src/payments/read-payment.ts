import { type Static, Type } from '@sinclair/typebox';
import { SignalboxError } from '../core/errors.ts';
import { SchemaCheck } from '../core/schema/check.ts';
import { decodePayment } from './codec.ts';
import type { Authorization } from './facilitator/facilitator.ts';
import { PaymentRefused, type PaymentSubmission } from './payments.ts';
import type { QuoteTerms } from './quote.ts';
import type { QuoteSeal, VerifiedQuote } from './seal.ts';

const Address = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' });
const Uint = Type.String({ pattern: '^[0-9]{1,78}$' });

/** The only accepted payload: an EIP-3009 authorization, signed with the wallet's own key. */
const Eip3009Payload = Type.Object({
  signature: Type.String({ pattern: '^0x[0-9a-fA-F]{130}$' }),
  authorization: Type.Object({
    from: Address,
    to: Address,
    value: Uint,
    validAfter: Uint,
    validBefore: Uint,
    nonce: Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' }),
  }),
});
type Eip3009Payload = Static<typeof Eip3009Payload>;
const payloadForm = new SchemaCheck(Eip3009Payload);

/**
 * How far a payer's clock may be ahead, s. If an authorization were valid for longer, the decision that a payment has failed would be
 * delayed.
 */
const CLOCK_AHEAD_S = 86_400;

/** A payment whose form, quote seal and signature were checked. No money has moved yet. */
export interface SignedPayment extends Authorization {
  readonly terms: QuoteTerms;
  readonly network: string;
  /** Encrypts stored answers. The encryption key includes the quote's seal, because the chain shows every signature. */
  readonly secret: string;
}

/**
 * Checks a payment at `now` (ms) without network access. The cheapest checks come first.
 * @throws like `Payments.read`
 */
export async function readPayment(
  { header, purpose, requestHash, wallet }: PaymentSubmission,
  seal: QuoteSeal,
  now: number,
): Promise<SignedPayment> {
  const { accepted, payload } = decodePayment(header);
  const quote = seal.open(accepted);
  if (!quote)
    throw new PaymentRefused(
      'unknown_quote',
      'The payment is for an offer that this server did not make. Request a new offer and sign it.',
    );
  const { terms, requirements } = quote;
  if (terms.purpose !== purpose || terms.requestHash !== requestHash) {
    throw new PaymentRefused('other_request', 'The payment is for a different request.');
  }
  if (!payloadForm.accepts(payload)) {
    const message =
      'The payment must be an EIP-3009 authorization, with a signature of 65 bytes by the key of the wallet.';
    throw new PaymentRefused('unsupported_signature', message);
  }
  checkLowS(payload.signature);
  const { authorization, signature } = normalize(payload);
  const { from: payer, nonce } = authorization;
  checkTerms(authorization, quote, now);
  if (wallet !== null && wallet !== payer) {
    const message = 'The payment is from a different wallet than `agent_wallet` names.';
    throw new SignalboxError('agent_wallet_mismatch', message, { param: 'agent_wallet' });
  }
  if ((await signerOf({ authorization, signature }, quote)) !== payer) {
    throw new PaymentRefused('invalid_signature', 'The signature was not made by the wallet that pays.');
  }
  return {
    payload: { x402Version: 2, accepted: requirements, payload: { signature, authorization } },
    requirements,
    payer,
    nonce,
    terms,
    network: requirements.network,
    amount: BigInt(requirements.amount),
    validBefore: Number(authorization.validBefore),
    secret: `${signature} ${requirements.extra.terms}`,
  };
}

/** @throws PaymentRefused unless the authorization matches the quote */
function checkTerms(
  { to, value, validAfter, validBefore }: Eip3009Payload['authorization'],
  { requirements, terms }: VerifiedQuote,
  now: number,
): void {
  if (to !== requirements.payTo.toLowerCase() || value !== requirements.amount) {
    throw new PaymentRefused('other_terms', 'The payee or the amount of the authorization differs from the offer.');
  }
  if (BigInt(validAfter) * 1_000n > BigInt(now)) {
    throw new PaymentRefused('not_yet_valid', 'The authorization is not valid yet.');
  }
  const latest = Math.ceil(terms.expiresAt / 1_000) + requirements.maxTimeoutSeconds + CLOCK_AHEAD_S;
  if (BigInt(validBefore) > BigInt(latest)) {
    const message = 'The authorization is valid for much longer than `maxTimeoutSeconds` in the offer.';
    throw new PaymentRefused('valid_too_long', message);
  }
}

/** Half the order of the curve. A larger `s` is a second form of the same signature, which anyone can compute. */
const S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/**
 * Refuses the second form of a signature, because tokens refuse it and stored answers are encrypted with the signature's text.
 * @throws PaymentRefused
 */
function checkLowS(signature: string): void {
  if (BigInt(`0x${signature.slice(66, 130)}`) <= S_MAX) return;
  const message = 'The `s` value of the signature must be in the lower half of the curve order.';
  throw new PaymentRefused('unsupported_signature', message);
}

/** Normalizes a payload and removes other fields. Some x402 services refuse mixed-case addresses without a valid checksum. */
function normalize({ signature, authorization }: Eip3009Payload): Eip3009Payload {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  return {
    // Some wallets count the last byte of a signature from 0, but contracts count from 27.
    signature: hex(signature.replace(/0([01])$/, (_, bit) => (bit === '0' ? '1b' : '1c'))),
    authorization: {
      from: hex(from),
      to: hex(to),
      value: String(BigInt(value)),
      validAfter: String(BigInt(validAfter)),
      validBefore: String(BigInt(validBefore)),
      nonce: hex(nonce),
    },
  };
}

/** Returns the signer in lower case; null for an invalid signature. */
async function signerOf(payment: Eip3009Payload, { requirements }: VerifiedQuote): Promise<string | null> {
  const { authorization, signature } = payment;
  // The libraries are large, so they are loaded with the first payment.
  const [{ recoverTypedDataAddress }, { authorizationTypes }] = await Promise.all([
    import('viem/utils'),
    import('@x402/evm'),
  ]);
  const { network, asset, extra } = requirements;
  try {
    const signer = await recoverTypedDataAddress({
      domain: {
        name: extra.name,
        version: extra.version,
        chainId: Number(network.slice(network.indexOf(':') + 1)),
        verifyingContract: hex(asset),
      },
      types: authorizationTypes,
      primaryType: 'TransferWithAuthorization',
      message: {
        from: hex(authorization.from),
        to: hex(authorization.to),
        value: BigInt(authorization.value),
        validAfter: BigInt(authorization.validAfter),
        validBefore: BigInt(authorization.validBefore),
        nonce: hex(authorization.nonce),
      },
      signature: hex(signature),
    });
    return signer.toLowerCase();
  } catch {
    return null;
  }
}

/** Converts a text whose form was already checked. */
const hex = (text: string): `0x${string}` => `0x${text.slice(2).toLowerCase()}`;
