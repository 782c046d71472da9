import type { ErrorCode } from '../errors.ts';
import type { Operation } from '../kinds/operations.ts';
import type { Microcredits } from '../money/credits.ts';
import type { CacheResult, CacheSkip } from '../policy/cache.ts';
import type { ExpectedLength } from '../request/expected-length.ts';
import type { Facts } from '../request/facts.ts';
import { selectorIn } from '../request/facts.ts';
import type { InsteadOf } from './decision.ts';
import type { DecisionOutcome } from './outcome.ts';
import type { RefusalRecord, RefusedAnswer } from './refusal.ts';
import type { GuardVerdict } from './verdict.ts';

/** A decision with its outcome. A decision record contains no text of the request or the answer. */
export interface DecisionRecord {
  /** ID of the decision. Later decisions have greater IDs; see `core/id.ts`. */
  readonly id: number;
  /** Time of the decision, ms since 1970. */
  readonly time: number;
  /** The number of the request (`req_…`); null for none. */
  readonly request: number | null;
  readonly keyId: string;
  /** The operation that was executed, or `route` for a recommendation. */
  readonly kind: Operation | 'route';
  /** Revision of the policy that made the decision; see `findRevision`. */
  readonly revision: string;
  readonly seed: string;
  readonly facts: Facts;
  /** Whether the caller requested a stream. */
  readonly stream: boolean;
  /** The labels that the key had at the time. */
  readonly labels: Readonly<Record<string, string>>;
  /** The request's `metadata`, redacted. Only keys that the policy's `records.metadata` lists are stored. */
  readonly metadata: Readonly<Record<string, string>>;
  /** IDs of the team and the user that the key belonged to; null for none. */
  readonly team: string | null;
  readonly user: string | null;
  /** The session that the request names; null for none. */
  readonly session: string | null;
  /** The agent of that session that the request names, and the agent that started it; null for none. */
  readonly agent: string | null;
  readonly parentAgent: string | null;
  /**
   * For requests from the playground: the ID of the user or key that sent it. `sentBy` is null for requests that did not come from the
   * playground.
   */
  readonly sentBy: string | null;
  /** The expected length of the answer; null for none. */
  readonly expectedLength: ExpectedLength | null;
  /** The number of the readings that the decision used; 0 for the policy's own figures. */
  readonly readingsNumber: number;
  readonly reason: string;
  /** ID of the chosen model. */
  readonly choice: string;
  readonly fallbacks: readonly string[];
  /** Endpoints that a circuit breaker excluded, to try if all others fail, by index in their model. */
  readonly lastResorts: readonly { readonly model: string; readonly endpoints: readonly number[] }[];
  /** The outcome of the decision; null for a route query, which executes nothing, and while the request runs. */
  readonly outcome: DecisionOutcome | null;
}

/** Every status of a decision record. `recommended` is the status of a route query, which executes nothing. */
const DECIDED_STATUSES = ['completed', 'failed', 'broken', 'abandoned', 'recommended'] as const;
/** Every status of a record. A refused request has no decision; see `RefusalRecord`. */
export const RECORD_STATUSES = [...DECIDED_STATUSES, 'refused'] as const;
export type RecordStatus = (typeof RECORD_STATUSES)[number];

/** Every status of a decision. A running decision has no record yet. */
export const DECISION_STATUSES = [...DECIDED_STATUSES, 'running'] as const;

/** Whether the request of a decision is still running, so that its outcome is unknown. */
export const isRunning = ({ kind, outcome }: Pick<DecisionRecord, 'kind' | 'outcome'>): boolean =>
  outcome === null && kind !== 'route';

/** The seed of an answer that a step of the gateway gave without a model, for example from a cache. Such an answer needs no decision. */
export const NO_SEED = '';

/** Whether a step of the gateway answered the request without a model. */
export const isAnsweredHere = ({ seed }: Pick<DecisionRecord, 'seed'>): boolean => seed === NO_SEED;

export const statusOf = ({ outcome }: Pick<DecisionRecord, 'outcome'>): (typeof DECIDED_STATUSES)[number] =>
  outcome?.status ?? 'recommended';

/** @returns the ID of the model that was tried last, or of the choice if no model was tried */
export const modelOf = ({ outcome, choice }: Pick<DecisionRecord, 'outcome' | 'choice'>): string =>
  outcome?.attempts.at(-1)?.model ?? choice;

/** A decision record as lists show it. A member is null if the record lacks the fact or no attempt was made. */
export interface RecordSummary
  extends Pick<DecisionRecord, 'time' | 'stream' | 'labels' | 'metadata' | 'reason' | 'revision'> {
  /** `model` of the request; `pinned` if the request named one model. */
  readonly selector: string;
  /** The provider that was tried last. */
  readonly provider: string | null;
  readonly error: ErrorCode | null;
  /** The number of attempts of the request. */
  readonly attempts: number | null;
  readonly charged: Microcredits | null;
  readonly saved: Microcredits | null;
  readonly firstPartMs: number | null;
  readonly totalMs: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** The model that the request names, if a fallback was tried instead of it; null otherwise, and for a recommendation. */
  readonly insteadOf: InsteadOf | null;
  /** The facts of a refusal; null for a decision. In the summary of a refusal, `reason` is the message of the error. */
  readonly refused: RefusedAnswer | null;
  /** The verdicts of guards; empty if they found nothing. */
  readonly guards: readonly GuardVerdict[];
  /** The names of the guards that apply to the request. */
  readonly guardedBy: readonly string[];
  /** The result of the cache, or the reason why it does not apply; null without a cache. `spared` is in microcredits. */
  readonly cache: CacheResult | CacheSkip | null;
  readonly spared: Microcredits | null;
}

export function summaryOf({
  time,
  stream,
  labels,
  metadata,
  reason,
  revision,
  facts,
  outcome,
}: DecisionRecord): RecordSummary {
  return {
    time,
    stream,
    labels,
    metadata,
    reason,
    revision,
    selector: selectorIn(facts),
    provider: outcome?.attempts.at(-1)?.provider ?? null,
    error: outcome?.error ?? null,
    attempts: outcome?.attempts.length ?? null,
    charged: outcome?.charged ?? null,
    saved: outcome?.saved ?? null,
    firstPartMs: outcome?.firstPartMs ?? null,
    totalMs: outcome?.totalMs ?? null,
    inputTokens: outcome?.usage?.inputTokens ?? null,
    outputTokens: outcome?.usage?.outputTokens ?? null,
    insteadOf: outcome?.insteadOf ?? null,
    refused: null,
    guards: outcome?.guards ?? [],
    guardedBy: outcome?.guardedBy ?? [],
    cache: outcome?.cache ?? null,
    spared: outcome?.spared ?? null,
  };
}

/** The figures in the summary of a record that no model answered, or that cannot be read. */
export const NO_FIGURES = {
  charged: null,
  saved: null,
  firstPartMs: null,
  totalMs: null,
  inputTokens: null,
  outputTokens: null,
} as const;

/** The summary of a refusal in a list. */
export const refusalSummary = (refusal: RefusalRecord): RecordSummary => {
  const { time, labels, reason, code, status, dialect, method, route, decision, answers } = refusal;
  const { guards = [], guardedBy = [] } = refusal;
  return {
    time,
    stream: false,
    labels,
    metadata: {},
    reason,
    revision: '',
    selector: '',
    provider: null,
    error: code,
    attempts: 0,
    ...NO_FIGURES,
    insteadOf: null,
    refused: { status, dialect, method, route, decision, answers },
    guards,
    guardedBy,
    cache: null,
    spared: null,
  };
};
