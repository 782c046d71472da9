import { type Static, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { SignalboxError } from '../core/errors.ts';
import { beyondLimits } from '../core/json-limits.ts';

/** Values of a payment's JSON that are read at most: a stock client writes about thirty. */
const VALUES_MAX = 512;
const BASE64 = /^[\w+/-]+={0,2}$/;

const Told = Type.Object({
  x402Version: Type.Literal(2),
  /** The requirements that were offered. Their seal tells whether they are. */
  accepted: Type.Record(Type.String(), Type.Unknown()),
  payload: Type.Record(Type.String(), Type.Unknown()),
});
export type Told = Static<typeof Told>;
const told = TypeCompiler.Compile(Told);

/** What of other versions tells which they are. */
const Older = Type.Object({
  x402Version: Type.Optional(Type.Integer()),
  network: Type.Optional(Type.String()),
  accepted: Type.Optional(Type.Object({ network: Type.Optional(Type.String()) })),
});
const older = TypeCompiler.Compile(Older);

/**
 * Reads the header of a payment, which the edge has bounded: no more than its outer form. Throws SignalboxError
 * `invalid_value`, and `unsupported_x402_version`.
 */
export function decodePayment(header: string): Told {
  const value = jsonOf(header);
  if (older.Check(value)) {
    const { x402Version, network, accepted } = value;
    const isNamed = [network, accepted?.network].some((name) => name !== undefined && !name.includes(':'));
    if (isNamed || (x402Version !== undefined && x402Version !== 2)) throw versionError();
  }
  if (told.Check(value)) return value;
  throw formError('It must be the object of a payment, with `x402Version`, `accepted` and `payload`');
}

function jsonOf(header: string): unknown {
  if (!BASE64.test(header)) throw formError('It must be JSON in base64');
  const text = Buffer.from(header, 'base64').toString();
  if (beyondLimits(text, VALUES_MAX)) throw formError('Its JSON nests too deep, or has too many values');
  try {
    return JSON.parse(text);
  } catch {
    throw formError('It must be JSON in base64');
  }
}

function formError(message: string): SignalboxError {
  return new SignalboxError('invalid_value', `The header PAYMENT-SIGNATURE is not a payment: ${message}.`, {
    param: 'PAYMENT-SIGNATURE',
  });
}

const versionError = () =>
  new SignalboxError(
    'unsupported_x402_version',
    'Payments are taken by version 2 of x402, on networks that are named like `eip155:8453`.',
    { param: 'PAYMENT-SIGNATURE' },
  );
