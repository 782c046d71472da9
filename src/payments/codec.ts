import { type Static, Type } from '@sinclair/typebox';
import { SignalboxError } from '../core/errors.ts';
import { beyondLimits } from '../core/json/limits.ts';
import { parseJson } from '../core/json/object.ts';
import { SchemaCheck } from '../core/schema/check.ts';

/** The maximum number of values in a payment's JSON. A standard x402 client writes about thirty. */
const VALUES_MAX = 512;
const BASE64 = /^[\w+/-]+={0,2}$/;

const MessageForm = Type.Object({
  x402Version: Type.Literal(2),
  /** The accepted payment requirements. The seal of the payment requirements shows whether this gateway made them. */
  accepted: Type.Record(Type.String(), Type.Unknown()),
  payload: Type.Record(Type.String(), Type.Unknown()),
});
type PaymentMessage = Static<typeof MessageForm>;
const messageForm = new SchemaCheck(MessageForm);

/** The fields that identify other versions of x402. */
const OtherVersion = Type.Object({
  x402Version: Type.Optional(Type.Integer()),
  network: Type.Optional(Type.String()),
  accepted: Type.Optional(Type.Object({ network: Type.Optional(Type.String()) })),
});
const otherVersion = new SchemaCheck(OtherVersion);

/**
 * Decodes the payment header and checks only its outer form. The server has already limited its size.
 * @throws SignalboxError `invalid_value`, `unsupported_x402_version`
 */
export function decodePayment(header: string): PaymentMessage {
  const value = jsonOf(header);
  if (otherVersion.accepts(value)) {
    const { x402Version, network, accepted } = value;
    const isNamed = [network, accepted?.network].some((name) => name !== undefined && !name.includes(':'));
    if (isNamed || (x402Version !== undefined && x402Version !== 2)) throw versionError();
  }
  if (messageForm.accepts(value)) return value;
  throw formError('It must be an object with `x402Version`, `accepted` and `payload`');
}

function jsonOf(header: string): unknown {
  if (!BASE64.test(header)) throw formError('It must be JSON in base64');
  const text = Buffer.from(header, 'base64').toString();
  if (beyondLimits(text, VALUES_MAX)) throw formError('Its JSON is nested too deeply or has too many values');
  const value = parseJson(text);
  if (value === undefined) throw formError('It must be JSON in base64');
  return value;
}

function formError(message: string): SignalboxError {
  return new SignalboxError('invalid_value', `The header PAYMENT-SIGNATURE is not a payment: ${message}.`, {
    param: 'PAYMENT-SIGNATURE',
  });
}

const versionError = () =>
  new SignalboxError(
    'unsupported_x402_version',
    'Payments use version 2 of x402, on networks with names such as `eip155:8453`.',
    { param: 'PAYMENT-SIGNATURE' },
  );
