import { SignalboxError } from '../core/errors.ts';
import { idText } from '../core/id.ts';
import { StoreError } from '../store/store.ts';
import { orOverloaded } from '../store/unwritten.ts';
import { FacilitatorUnavailable } from './facilitator/facilitator.ts';
import { PaymentRefused } from './payments.ts';

/** When it makes sense to come back, ms: the chain has been asked again. */
const RETRY_MS = 5_000;

/** Nothing was sent, and nothing can be just now. */
export const unavailableError = (cause?: unknown): SignalboxError =>
  new SignalboxError('payment_unavailable', 'Payments cannot be taken just now, and nothing was charged; try again.', {
    retryAfterMs: RETRY_MS,
    cause,
  });

/** Nobody may be asked to pay anew for what may be paid already. */
export function unsettledError(payment: number, cause?: unknown): SignalboxError {
  const id = idText('pay_', payment);
  return new SignalboxError(
    'payment_unsettled',
    `What became of payment ${id} is not known yet. Send this request with the same PAYMENT-SIGNATURE again, and sign no other.`,
    { details: { payment_id: id }, headers: { 'x-payment-id': id }, retryAfterMs: RETRY_MS, cause },
  );
}

/** Of two requests with one payment the second must wait: to repeat it by itself would be of no use. */
export function inFlightError(payment: number): SignalboxError {
  const id = idText('pay_', payment);
  return new SignalboxError('in_flight', `This payment is being settled for another request, as ${id}.`, {
    details: { payment_id: id },
    headers: { 'x-payment-id': id },
    retryAfterMs: RETRY_MS,
    retry: false,
  });
}

export const blockedError = (): SignalboxError =>
  new SignalboxError('insufficient_permissions', 'This wallet is blocked by the operator.');

/** What cannot be written down may not be sent. */
export const written = <T>(write: () => Promise<T>): Promise<T> =>
  orOverloaded('The payment cannot be written down, so nothing was sent; try again.', write);

/** Whether an error only says that it is not known, or not written, yet. */
export const isPassing = (cause: unknown): boolean =>
  cause instanceof FacilitatorUnavailable || cause instanceof StoreError;

const WORD = /^[a-z][a-z0-9_]{0,79}$/;

/** A reason as it may be shown: others' words are told only if they look like a word of x402. */
export const reasonWord = (reason: string): string => (WORD.test(reason) ? reason : 'refused_by_facilitator');

/** Of the words of x402 those that a payer can do something about, and what. */
const REMEDIES: Readonly<Record<string, string>> = {
  invalid_exact_evm_insufficient_balance: 'The wallet has less of this asset than `amount`: fill it up.',
  invalid_exact_evm_nonce_already_used: 'The authorization was used or cancelled before: sign the new quote.',
  invalid_exact_evm_payload_authorization_valid_before: 'The authorization has expired: sign the new quote.',
  invalid_exact_evm_payload_authorization_valid_after: 'The authorization is not valid yet: look at your clock.',
};

export function refusedBy(reason: string): PaymentRefused {
  const word = reasonWord(reason);
  const remedy = Object.hasOwn(REMEDIES, word) ? ` ${REMEDIES[word]}` : '';
  return new PaymentRefused(word, `The payment was refused and nothing was charged: ${word}.${remedy}`);
}
