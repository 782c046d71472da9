import { type Static, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { SignalboxError } from '../core/errors.ts';
import { decodePayment } from './codec.ts';
import type { Offer } from './payment.ts';
import { type Offered, PaymentRefused } from './payments.ts';
import type { Seal, Unsealed } from './seal.ts';

const Address = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' });
const Uint = Type.String({ pattern: '^[0-9]{1,78}$' });

/** What is taken of a payment: an authorization by EIP-3009, signed with the key of the wallet. */
const Signed = Type.Object({
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
type Signed = Static<typeof Signed>;
const signed = TypeCompiler.Compile(Signed);

const TRANSFER = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

/**
 * Seconds that the clock of a payer may be ahead. What is valid for longer could not be told to have failed for as
 * long.
 */
const CLOCK_AHEAD_S = 86_400;

/** Reads a payment, the cheap looks first. `now`: ms since 1970. Asks nobody. Rejects as `Payments.read` does. */
export async function readOffer(
  { header, purpose, requestHash, wallet }: Offered,
  seal: Seal,
  now: number,
): Promise<Offer> {
  const { accepted, payload } = decodePayment(header);
  const unsealed = seal.open(accepted);
  if (!unsealed)
    throw new PaymentRefused('unknown_quote', 'The payment is for an offer that this gateway did not make.');
  const { terms, requirements } = unsealed;
  if (terms.purpose !== purpose || terms.requestHash !== requestHash) {
    throw new PaymentRefused('other_request', 'The payment is for another request than this one.');
  }
  if (!signed.Check(payload)) {
    const message = 'Only an EIP-3009 authorization is taken, with a signature of 65 bytes by the key of the wallet.';
    throw new PaymentRefused('unsupported_signature', message);
  }
  checkForm(payload.signature);
  const { authorization, signature } = plain(payload);
  const { from: payer, nonce } = authorization;
  checkTerms(authorization, unsealed, now);
  if (wallet !== null && wallet !== payer) {
    const message = 'The payment is of another wallet than `agent_wallet` names.';
    throw new SignalboxError('agent_wallet_mismatch', message, { param: 'agent_wallet' });
  }
  if ((await signerOf({ authorization, signature }, unsealed)) !== payer) {
    throw new PaymentRefused('invalid_signature', 'The signature is not of the wallet that is to pay.');
  }
  return {
    // Nothing that was not looked at is handed on.
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

/** What is authorized must be what was offered. */
function checkTerms(
  { to, value, validAfter, validBefore }: Signed['authorization'],
  { requirements, terms }: Unsealed,
  now: number,
): void {
  if (to !== requirements.payTo.toLowerCase() || value !== requirements.amount) {
    throw new PaymentRefused('other_terms', 'The authorization has another payee or amount than the offer.');
  }
  if (BigInt(validAfter) * 1_000n > BigInt(now)) {
    throw new PaymentRefused('not_yet_valid', 'The authorization is not valid yet.');
  }
  const latest = Math.ceil(terms.expiresAt / 1_000) + requirements.maxTimeoutSeconds + CLOCK_AHEAD_S;
  if (BigInt(validBefore) > BigInt(latest)) {
    const message = 'The authorization is valid for much longer than `maxTimeoutSeconds` of the offer.';
    throw new PaymentRefused('valid_too_long', message);
  }
}

/** Half the order of the curve. Above it `s` is a second form of the same signature that anybody can make of the first. */
const S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** Tokens refuse the second form, and an answer that is kept for one opens to nobody by the other. Throws PaymentRefused. */
function checkForm(signature: string): void {
  if (BigInt(`0x${signature.slice(66, 130)}`) <= S_MAX) return;
  const message = 'The `s` of the signature must be in the lower half of the order of its curve.';
  throw new PaymentRefused('unsupported_signature', message);
}

/** The same in one form, and no more than it: others refuse addresses whose capitals are no checksum. */
function plain({ signature, authorization }: Signed): Signed {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  return {
    // Some wallets count its last byte from 0, contracts from 27.
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

/** Who signed, in lower case; null for what is no signature. */
async function signerOf({ authorization, signature }: Signed, { requirements }: Unsealed): Promise<string | null> {
  // Loaded by the first who pays: it is large.
  const { recoverTypedDataAddress } = await import('viem/utils');
  const { network, asset, extra } = requirements;
  try {
    const signer = await recoverTypedDataAddress({
      domain: {
        name: extra.name,
        version: extra.version,
        chainId: Number(network.slice(network.indexOf(':') + 1)),
        verifyingContract: hex(asset),
      },
      types: TRANSFER,
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

/** Of a text whose form was checked. */
const hex = (text: string): `0x${string}` => `0x${text.slice(2).toLowerCase()}`;
