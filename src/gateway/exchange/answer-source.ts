import type { AnswerIdentity, Receipt } from '../../core/decision/answer.ts';
import type { SignalboxError } from '../../core/errors.ts';
import type { GatewayPolicy } from '../../core/policy/snapshot.ts';
import type { NextParts } from '../../providers/upstream-call.ts';
import type { FundedHold } from '../money/funding.ts';

/**
 * An answer source returns one answer in parts. A running exchange is a source, and so is a stored answer that is sent again. Writers and
 * streams depend only on this interface.
 *
 * The reader of an answer source must call `open`, then `read` until it returns null, or `abandon`. If it stops in the middle without
 * `abandon`, it holds money and a slot of a running request until the deadline.
 */
export interface AnswerSource extends AnswerIdentity {
  /** The receipt of the answer; null until the answer has ended. */
  readonly receipt: Receipt | null;
  /** The JSON body of the answer, if it was written before the reader wants it; `read` then returns no parts. Null before the end. */
  readonly body?: string | null;
  /** Why the answer ended before it was complete; null before the end and after a complete answer. */
  readonly error: SignalboxError | null;
  /**
   * Waits for the first content.
   * @throws SignalboxError if there will be no content; the answer has then ended
   */
  open(): Promise<void>;
  /**
   * Returns the next parts.
   * @throws the error, if a defect of the program ends the answer
   */
  read(): NextParts;
  /**
   * Ends the answer early. A call after the end of the answer does nothing.
   * @param reason the error for the reader of the answer, or that the reader has disconnected
   */
  abandon(reason: SignalboxError | 'caller-gone'): void;
}

/** An answer that a model is writing. The exchange implements this interface, and a guard on answers would wrap the exchange. */
export interface RunningAnswer extends AnswerSource {
  /** How the answer is paid for. */
  readonly funded: Pick<FundedHold, 'headers' | 'errorOf'>;
  /** The part of the policy for the gateway that the answer runs under. */
  readonly policy: GatewayPolicy;
  /** Whether the caller of the answer has disconnected. */
  readonly isDeserted: boolean;
  /**
   * Ends the answer with the error of a step. Unlike `abandon`, it first reads what the provider has already sent, so that the caller pays
   * what the provider reports. Absent: an answer that no provider is writing, which `abandon` ends.
   */
  endWith?(error: SignalboxError): void;
  /** Notes that a step begins or ends its work at parts, because this time says nothing about the length of the answer. */
  pause?(isPaused: boolean): void;
}
