import type { StreamPart } from '../../contract/parts.ts';
import type { Awaitable } from '../../core/awaitable.ts';
import type { ByteRoom } from '../../core/byte-room.ts';
import type { Platform } from '../../core/decision/answer.ts';
import type { Decision } from '../../core/decision/decision.ts';
import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import type { DecisionRecord } from '../../core/decision/record.ts';
import type { GuardCall } from '../../core/decision/verdict.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { Trace, TraceStep } from '../../host/telemetry/trace.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import type { Upstream } from '../../policy/runtime/upstream.ts';
import type { Write } from '../../store/store.ts';
import type { FundingTerms } from '../money/funding.ts';
import type { PromptHistory } from '../prompt/affinity.ts';
import type { ExchangeFacts } from './exchange-facts.ts';
import type { FailedAttempt } from './failure.ts';

/** The parts of a request's context that its exchange writes to. */
interface ExchangeContext {
  /** The trace of the request; null while nothing is traced. */
  readonly trace: Trace | null;
  readonly exchange: Pick<ExchangeFacts, 'dispatchedAt' | 'hasReachedCap' | 'addFailedUsage' | 'removeFailedUsage'>;
  step(step: TraceStep): void;
  /** @param tokens the tokens of the charged usage */
  endWork(tokens: number): void;
}

/** The parts of a gateway that an exchange uses. */
export interface ExchangeParts {
  readonly ledger: Pick<Ledger, 'written'>;
  /** The memory for answers without streaming, until their exchanges end. */
  readonly answers: ByteRoom;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Stores what outlives an answer. */
export interface ExchangeRecorder {
  /** Reads the parts of the answer before the caller receives them. */
  hear(parts: readonly StreamPart[]): void;
  /** Reads the parts of an answer that guards inspect, as the guards left them. */
  hearGuarded(parts: readonly StreamPart[]): void;
  /** Writes a failed attempt to the log for operators. @returns the message of the failure for the record, redacted */
  logFailure(attempt: FailedAttempt): string;
  /** Notes the end of the answer. Returns the writes to store together with the settlement. */
  settlementWrites(outcome: DecisionOutcome, platform: Platform, upstream: Upstream | null): readonly Write[];
  /** Makes the record of the decision without an outcome, for readers before the end of the answer. */
  running(): DecisionRecord;
}

/** Whether a guard would block a complete answer, so that the model is asked once more. */
export type AnswerJudge = (parts: readonly StreamPart[]) => Awaitable<boolean>;

/** A decided request with everything that is needed to carry it out. All steps after the step "decide" share this object. */
export interface RunnableRequest {
  readonly request: ModelRequest;
  /** The paths of fields that were removed from the request for every endpoint. */
  readonly dropped: readonly string[];
  readonly decision: Decision;
  readonly history: PromptHistory;
  readonly terms: FundingTerms;
  /** The runtime of the caller's terms. */
  readonly runtime: Runtime;
  readonly caller: Caller;
  /** Milliseconds on a clock whose value never decreases. */
  readonly clock: () => number;
  /** When the decision began, ms on the clock. */
  readonly startedAt: number;
  readonly context: ExchangeContext;
  /** The calls of guards to models for this request so far; absent for a request without guards. */
  readonly guardCalls?: readonly GuardCall[] | undefined;
  /** Absent or null if no guard wants the model to be asked again. */
  readonly judge?: AnswerJudge | null;
}
