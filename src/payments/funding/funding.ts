import type { Decision } from '../../core/decision/decision.ts';
import { SignalboxError } from '../../core/errors.ts';
import { toCredits } from '../../core/money/credits.ts';
import { isAddress } from '../../core/money/holder-address.ts';
import type { Caller } from '../../core/people/caller.ts';
import { atomicOf, type PaymentPolicy } from '../../core/policy/payments.ts';
import type {
  FundedHold,
  Funding,
  FundingRequest,
  FundingSource,
  FundingTerms,
  PaymentEstimate,
} from '../../gateway/money/funding.ts';
import { KeyFunding, orUnwritten } from '../../gateway/money/key-funding.ts';
import { checkAge } from '../../store/unwritten.ts';
import { requestHashOf } from '../canonical.ts';
import type { SignedPayment } from '../read-payment.ts';
import { blockedError, unsettledError } from '../refusals.ts';
import type { X402Parts } from './gateway.ts';
import { checkMayName, keyPayer, namedWallet, unprovedPayer } from './payer.ts';
import { PaymentFunding } from './payment-funding.ts';
import { PAYMENT_HEADERS, SIGNATURE_HEADER } from './payment-headers.ts';
import { paymentErrorOf, quotedError } from './quoted-error.ts';

/** The funding of a gateway that may accept payments. While the policy of the gateway accepts no payments, only keys pay. */
export const x402Funding = (parts: X402Parts): FundingSource => ({
  headerNames: PAYMENT_HEADERS,
  of: (request) => fundingOf(parts, request),
  keyless: {
    isOpen: ({ payments }) => payments !== null,
    bodyBytesMax: ({ payments }) => payments?.bodyBytesMax ?? Number.POSITIVE_INFINITY,
    checkHeaders(headers) {
      if (headers.has('x-payment')) throw olderVersionError();
    },
    advice: (keyHeader) => `To pay by x402, omit the header ${keyHeader}.`,
  },
  checkBlocked({ keyId }) {
    const { blocklist } = parts.payments;
    if (isAddress(keyId)) checkAge(blocklist.ageMs, 'blocked wallets');
    if (blocklist.blocked.has(keyId)) throw blockedError(keyId);
  },
  checkNamed: (request, key) => void namedWallet(request, key),
  adviceUnder: ({ payments }) =>
    payments && {
      mayPay: ({ keyId }) => isAddress(keyId),
      quoteOf: (decision) => paymentEstimate(payments, decision),
    },
});

function fundingOf(gateway: X402Parts, given: FundingRequest): Funding | Promise<Funding> {
  const { request, key, headers } = given;
  const { policy } = gateway.payments;
  const wallet = request.routing.agentWallet === undefined ? null : namedWallet(request, key);
  const header = headers.get(SIGNATURE_HEADER);
  if (header === null) {
    if (key) return policy ? new PayableKeyFunding(gateway, given, key) : new KeyFunding(gateway, given, key);
    if (wallet && gateway.payments.blocklist.blocked.has(wallet)) throw blockedError(wallet);
    if (!wallet && policy?.walletRequired) throw namelessError();
    return new UnpaidFunding(gateway, given, wallet);
  }
  if (!policy) {
    const message = 'This server does not accept payments. Send the request without PAYMENT-SIGNATURE.';
    throw new SignalboxError('unsupported_parameter', message, { param: 'PAYMENT-SIGNATURE' });
  }
  if (!wallet && !key && policy.walletRequired) throw namelessError();
  return paymentFunding(gateway, given, header, wallet);
}

async function paymentFunding(
  gateway: X402Parts,
  given: FundingRequest,
  header: string,
  wallet: string | null,
): Promise<Funding> {
  try {
    const payment = await signedPayment(gateway, given, header, wallet);
    const runtime = await orUnwritten(async () => gateway.leaseOf(payment.terms.revision));
    return new PaymentFunding(gateway, given, payment, runtime);
  } catch (cause) {
    throw await paymentErrorOf(gateway, given, unprovedPayer(wallet, given.key), cause);
  }
}

/**
 * Reads and checks the payment of a request.
 * @throws SignalboxError, and PaymentRefused if another payment would be accepted
 */
async function signedPayment(
  { payments }: X402Parts,
  { request, idempotencyKey, key }: FundingRequest,
  header: string,
  wallet: string | null,
): Promise<SignedPayment> {
  const requestHash = requestHashOf(request.original.body, idempotencyKey);
  const payment = await payments.read({ header, purpose: 'chat', requestHash, wallet });
  if (key) checkMayName(key, payment.payer);
  if (payments.blocklist.blocked.has(payment.payer)) throw blockedError(payment.payer);
  const other = await payments.unsettled(payment.payer, requestHash);
  if (other && other.nonce !== payment.nonce) throw unsettledError(other.id);
  return payment;
}

/** A key on a gateway that accepts payments. An error about the balance of the key says how to pay. */
class PayableKeyFunding extends KeyFunding {
  readonly #gateway: X402Parts;
  readonly #request: FundingRequest;

  constructor(gateway: X402Parts, request: FundingRequest, key: Caller) {
    super(gateway, request, key);
    this.#gateway = gateway;
    this.#request = request;
  }

  override async mend(cause: unknown): Promise<unknown> {
    if (!(cause instanceof SignalboxError && lacksBalance(cause)) || !this.#gateway.payments.policy) return cause;
    const payer = keyPayer(this.caller, this.#request.request);
    const { message, info } = cause;
    // Without a quote, the error only reports that the balance is too low.
    return quotedError(this.#gateway, this.#request, payer, {
      code: 'insufficient_quota',
      message,
      details: info.details,
    }).catch(() => cause);
  }
}

/** Whether an error says that a balance is empty, so that a payment would help. */
const lacksBalance = ({ code, info }: SignalboxError): boolean =>
  code === 'insufficient_quota' && info.details?.balance !== undefined;

/** A request without a payment. A request without a payment does not run, and the error contains its price. */
class UnpaidFunding implements Funding {
  readonly caller = null;
  readonly provedCaller = null;
  readonly identity = null;
  readonly #gateway: X402Parts;
  readonly #request: FundingRequest;
  readonly #wallet: string | null;

  constructor(gateway: X402Parts, request: FundingRequest, wallet: string | null) {
    this.#gateway = gateway;
    this.#request = request;
    this.#wallet = wallet;
  }

  terms(): FundingTerms {
    throw unpaidError();
  }

  async reserve(): Promise<FundedHold> {
    throw unpaidError();
  }

  async mend(): Promise<unknown> {
    return quotedError(this.#gateway, this.#request, unprovedPayer(this.#wallet, null), UNPAID);
  }
}

function paymentEstimate({ settleFee, chargeMin, networks }: PaymentPolicy, { ranked }: Decision): PaymentEstimate {
  const price = Math.max(chargeMin, Math.max(...ranked.map(({ bound }) => bound)) + settleFee);
  return {
    schemes: ['exact'],
    max_credits: toCredits(price),
    max_atomic: networks.map(({ id, asset, rate }) => ({
      network: id,
      asset: asset.address,
      amount_atomic: String(atomicOf(rate, price)),
    })),
  };
}

const UNPAID = {
  code: 'payment_required',
  message: 'This request needs a payment. Pay through x402, or send an API key.',
} as const;
const unpaidError = () => new SignalboxError(UNPAID.code, UNPAID.message);

const olderVersionError = () =>
  new SignalboxError(
    'unsupported_x402_version',
    'Payments use version 2 of x402: send the header PAYMENT-SIGNATURE, not X-PAYMENT.',
    { param: 'X-PAYMENT' },
  );

const namelessError = () =>
  new SignalboxError(
    'invalid_api_key',
    'The request has no API key. Name your wallet in `agent_wallet` to pay through x402, or send an API key.',
  );
