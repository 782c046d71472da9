import type { SignalboxError } from '../../core/errors.ts';
import type { GatewayPolicy } from '../../core/snapshot.ts';
import type { NextParts } from '../../providers/upstream-call.ts';
import type { FundedHold } from '../money/funding.ts';
import type { Receipt } from '../money/receipt.ts';

/** The names that an answer has in every dialect. */
export interface AnswerIdentity {
  /** The ID of the decision. Each surface derives the ID of its answer from it. */
  readonly decision: number;
  /** When the request was admitted, Unix time in seconds. */
  readonly created: number;
  /** The ID of the model that answers; before the first content part, the ID of the chosen model. */
  readonly model: string;
  /** The expected input in tokens, for dialects that report it before the first content. Absent if none is known. */
  readonly inputTokens?: number;
  /** Whether the gateway may end or edit the answer before its provider ends it. If absent, it may. */
  readonly mayBeCut?: boolean;
  /**
   * The fields of the request that were not sent to the model, as `platform.dropped` names them, once the model answers; absent or empty
   * for none.
   */
  readonly dropped?: readonly string[];
}

/**
 * The source of one answer, as parts. A running exchange is a source, and a stored answer that is sent again is another. Writers and
 * streams depend only on this interface.
 *
 * A reader must call `open`, then `read` until it returns null, or `abandon`. A reader that stops in the middle without `abandon` holds
 * money and a place until the deadline.
 */
export interface AnswerSource extends AnswerIdentity {
  /** The receipt of the answer; null until the answer has ended. */
  readonly receipt: Receipt | null;
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
   * Ends the answer early. Does nothing after its end.
   * @param reason the error for its reader, or that the reader has disconnected
   */
  abandon(reason: SignalboxError | 'caller-gone'): void;
}

/** An answer that is being carried out. The exchange implements it; a guard on answers would wrap it. */
export interface RunningAnswer extends AnswerSource {
  readonly funded: FundedHold;
  /** The part of the policy for the gateway that the answer runs under. */
  readonly policy: GatewayPolicy;
  /** Whether its caller has disconnected. */
  readonly isDeserted: boolean;
}
