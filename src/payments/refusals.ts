import { SignalboxError } from '../core/errors.ts';
import { idText } from '../core/id.ts';
import { isSubject } from '../core/people/subject.ts';
import { StoreError } from '../store/store.ts';
import { orOverloaded } from '../store/unwritten.ts';
import { FacilitatorUnavailable } from './facilitator/facilitator.ts';
import { PaymentRefused } from './payments.ts';

/** The suggested retry delay, ms. The server asks the chain again within this time. */
const RETRY_MS = 5_000;

export const unavailableError = (cause?: unknown): SignalboxError =>
  new SignalboxError('payment_unavailable', 'Payments cannot be processed now. Nothing was charged. Try again.', {
    retryAfterMs: RETRY_MS,
    cause,
  });

const paymentIdOf = (id: string) => ({
  details: { payment_id: id },
  headers: { 'x-payment-id': id },
  retryAfterMs: RETRY_MS,
});

/** The payment may have arrived, so the error must not ask the caller to pay again. */
export function unsettledError(payment: number, cause?: unknown): SignalboxError {
  const id = idText('pay_', payment);
  return new SignalboxError(
    'payment_unsettled',
    `The outcome of payment ${id} is not known yet. Send this request again with the same PAYMENT-SIGNATURE, and do not sign another payment.`,
    { ...paymentIdOf(id), cause },
  );
}

/** A second request with the same payment must wait until the first request has ended, so an automatic retry would not help. */
export function inFlightError(payment: number): SignalboxError {
  const id = idText('pay_', payment);
  return new SignalboxError(
    'in_flight',
    `This payment is already being settled for another request, as ${id}. Wait for its answer.`,
    {
      ...paymentIdOf(id),
      retry: false,
    },
  );
}

/**
 * The error of a caller that the operator has blocked.
 * @param id the caller's ID
 */
export const blockedError = (id: string): SignalboxError =>
  new SignalboxError(
    'insufficient_permissions',
    `The operator has blocked this ${isSubject(id) ? 'subject' : 'wallet'}.`,
  );

/** Maps a StoreError to `overloaded`. A payment that cannot be stored must not be sent. */
export const orNotSent = <T>(write: () => Promise<T>): Promise<T> =>
  orOverloaded('The payment cannot be recorded now, so it was not sent. Try again.', write);

/** Whether an error is temporary: a chain, facilitator or store that is unavailable. */
export const isTransient = (cause: unknown): boolean =>
  cause instanceof FacilitatorUnavailable || cause instanceof StoreError;

const WORD = /^[a-z][a-z0-9_]{0,79}$/;

/** Returns a facilitator's reason only if it has the form of an x402 code. */
export const publicReason = (reason: string): string => (WORD.test(reason) ? reason : 'refused_by_facilitator');

/** Advice for the x402 codes that a payer can act on. */
const REMEDIES: Readonly<Record<string, string>> = {
  invalid_exact_evm_insufficient_balance: 'The wallet holds less of this asset than `amount`. Add funds to it.',
  invalid_exact_evm_nonce_already_used: 'The authorization was already used or cancelled. Sign the new quote.',
  invalid_exact_evm_payload_authorization_valid_before: 'The authorization has expired. Sign the new quote.',
  invalid_exact_evm_payload_authorization_valid_after: 'The authorization is not valid yet. Check your clock.',
};

export function refusalError(reason: string): PaymentRefused {
  const word = publicReason(reason);
  const remedy = Object.hasOwn(REMEDIES, word) ? ` ${REMEDIES[word]}` : '';
  return new PaymentRefused(word, `The payment was refused and nothing was charged: ${word}.${remedy}`);
}
