import type { SignalboxError } from '../../core/errors.ts';
import type { GatewayPolicy } from '../../core/snapshot.ts';
import type { NextParts } from '../../providers/upstream-call.ts';
import type { FundedHold } from '../money/funding.ts';
import type { Receipt } from '../money/receipt.ts';

/** The names that an answer has in every dialect. */
export interface AnswerIdentity {
  /** ID of the decision; each surface makes its own ID of it. */
  readonly decision: number;
  /** When the request was admitted, Unix time in seconds. */
  readonly created: number;
  /** ID of the model that answers; before the first content part, of the choice. */
  readonly model: string;
  /** The input that is expected, tokens: for dialects that tell it before the first content. Absent where none is known. */
  readonly inputTokens?: number;
  /** Whether the gateway may end the answer before its service does, or edit it. Absent: it may. */
  readonly mayBeCut?: boolean;
  /** The fields of the request that its model did not get, as `platform.dropped` names them, once it answers; absent or empty for none. */
  readonly dropped?: readonly string[];
}

/**
 * The source of one answer, as parts. A running exchange is one; a stored answer that is given again is another. Writers
 * and streams depend on this alone.
 *
 * Its reader calls `open`, then `read` until null, or `abandon`. Reading part of it and leaving it holds money and a
 * place until the deadline.
 */
export interface AnswerSource extends AnswerIdentity {
  /** Null until the answer has ended. */
  readonly receipt: Receipt | null;
  /** Why the answer ended before it was whole; null before the end and after a good one. */
  readonly error: SignalboxError | null;
  /**
   * Waits for the first content.
   * @throws SignalboxError when there will be none; the answer has then ended.
   */
  open(): Promise<void>;
  /** @throws the error of a defect */
  read(): NextParts;
  /**
   * Ends the answer early. Harmless after its end.
   * @param reason the error for its reader, or that the reader is gone.
   */
  abandon(reason: SignalboxError | 'caller-gone'): void;
}

/** An answer that is carried out now. The exchange is one; a guard on answers wraps one in another. */
export interface RunningAnswer extends AnswerSource {
  readonly funded: FundedHold;
  /** The gateway's part of the policy that it runs under. */
  readonly policy: GatewayPolicy;
  /** Whether its caller has left. */
  readonly isDeserted: boolean;
}
