import type { ErrorCode } from '../errors.ts';
import type { Operation } from '../kinds/operations.ts';
import type { Microcredits } from '../money/credits.ts';
import type { Usage } from '../money/usage.ts';
import type { CacheResult, CacheSkip } from '../policy/cache.ts';
import type { EndpointLimitName } from '../policy/endpoint-room.ts';
import type { GuardCall, GuardVerdict } from '../policy/guards.ts';
import type { SpreadMode } from '../policy/spread.ts';
import type { ExpectedLength } from '../request/expected-length.ts';
import type { Facts } from '../request/facts.ts';
import { selectorIn } from '../request/facts.ts';
import type { AnswerSignal } from '../request/failure-kinds.ts';
import type { InsteadOf } from './decision.ts';
import type { Refusal, RefusedAnswer } from './refusal.ts';

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

export interface DecisionOutcome {
  /**
   * `failed`: no attempt returned content. `broken`: the answer was cut off. `abandoned`: the caller disconnected, the process stopped, or
   * memory had no room for the answer.
   */
  readonly status: 'completed' | 'failed' | 'broken' | 'abandoned';
  /** The error that the caller received. */
  readonly error: ErrorCode | null;
  /** The attempts of the request in order of time. */
  readonly attempts: readonly AttemptRecord[];
  /** Usage of the answer; null if there was no answer. */
  readonly usage: Usage | null;
  /** Whether Signalbox counted the tokens because the provider did not report usage. */
  readonly estimated: boolean;
  readonly charged: Microcredits;
  /** Saving against the baseline model, microcredits; negative if the choice cost more. */
  readonly saved: Microcredits;
  /** Milliseconds from admission to the first content. `firstPartMs` is null for an answer without content. */
  readonly firstPartMs: number | null;
  /** Milliseconds from admission to the end. */
  readonly totalMs: number;
  /**
   * The fund that lowered the cap on the output, or `model` if the model's maximum did, whether the answer reached the cap or not.
   * `cappedBy` is null if neither a fund nor the model's maximum lowered the cap.
   */
  readonly cappedBy: string | null;
  /** Whether the gateway replaced an impossible usage in a passed-through answer with its own count. */
  readonly usageReplaced: boolean;
  /** Fields of the request that reached the model in another form, as in `platform.adapted`; absent for none. */
  readonly adapted?: readonly string[];
  /** Endpoints that were skipped because a limit of the policy was used up; absent for none. */
  readonly full?: readonly FullEndpoint[];
  /** The model that the request names, if none of its endpoints was called and a fallback was tried; absent otherwise. */
  readonly insteadOf?: InsteadOf;
  /** The verdicts of guards on the request and the answer; absent if they found nothing. */
  readonly guards?: readonly GuardVerdict[];
  /** The ID of the decision whose answer the cache repeated; absent for an answer of a model. */
  readonly repeats?: number;
  /** The names of the guards that apply to the request; absent for none. */
  readonly guardedBy?: readonly string[];
  /** The result of the cache, or the reason why it does not apply; absent if the policy has no cache. */
  readonly cache?: CacheResult | CacheSkip;
  /** The price of the answers that the cache repeated, microcredits; absent for none. */
  readonly spared?: Microcredits;
  /** The calls of guards to models, which have holds of their own; absent for none. */
  readonly guardCalls?: readonly GuardCall[];
}

/** An endpoint that had no room for an attempt. */
export interface FullEndpoint {
  readonly model: string;
  readonly provider: string;
  readonly upstream: string;
  /** Index of the endpoint in its model. */
  readonly endpoint: number;
  /** The limit that was used up first, and its figure in the policy. */
  readonly limit: EndpointLimitName;
  readonly most: number;
  /** Milliseconds from admission to the first time. */
  readonly startMs: number;
  /** How often the request found no room, at least once. */
  readonly times: number;
}

/** How one of several endpoints was chosen for an attempt, with everything that is needed to repeat the choice. */
export interface SpreadRecord {
  readonly mode: SpreadMode;
  /** 16 hexadecimal digits: the number of the request's conversation, or the seed of its decision. */
  readonly key: string;
  /** The number of the choice in this request, from 0. */
  readonly draw: number;
  /** The indexes of the endpoints that could be tried. */
  readonly eligible: readonly number[];
  /** How busy each of these endpoints was. */
  readonly loads: readonly number[];
  /** The weight of each of these endpoints. The weight of an endpoint that has just recovered is lower than in the policy. */
  readonly weights: readonly number[];
  /** The indexes of the two endpoints that `least_busy` compared; null for none. */
  readonly compared: readonly [number, number] | null;
  /** Whether the request stayed at the endpoint whose cache has its conversation. */
  readonly stays: boolean;
  /** The indexes of the endpoints that probably had the conversation in their cache; absent in records of earlier versions. */
  readonly warm?: readonly number[];
  /** The indexes of the endpoints whose speed `fastest` had to measure; absent for none. */
  readonly unmeasured?: readonly number[];
  /** Present if the weights of the keys of a pool decided, because their figures are equal. */
  readonly isDrawn?: true;
}

export interface AttemptRecord {
  readonly model: string;
  readonly provider: string;
  readonly upstream: string;
  /** Milliseconds from admission to sending. */
  readonly startMs: number;
  /** Milliseconds from sending to the end of the attempt. */
  readonly ms: number;
  /** Milliseconds from sending to the first content. `firstPartMs` is null for an attempt without content. */
  readonly firstPartMs: number | null;
  /** The kind of failure of the attempt; null for a success. */
  readonly failure: string | null;
  /** Index of the endpoint in its model. */
  readonly endpoint: number;
  /** The provider's ID of the request, for its support; null if it returned none. */
  readonly requestId: string | null;
  /** The provider's own finish reason of each choice. */
  readonly finishReasons: readonly string[];
  /** How the endpoint was chosen among several; absent if the endpoints of the model are tried in their order. */
  readonly spread?: SpreadRecord;
  /** For a failure, the HTTP status of the provider; null for none. Absent for a success. */
  readonly status?: number | null;
  /** For a failure, the message of the provider or of Signalbox, redacted. Absent for a success. */
  readonly message?: string;
  /** The label of the key, for a provider with several keys; absent for one key. */
  readonly key?: string;
  /**
   * The fault of the earlier answer to the same request, for an attempt of the strong tier that followed it. Absent for other
   * attempts.
   */
  readonly after?: AnswerSignal;
  /** The charge for this attempt, microcredits. Absent if it was not charged, or if no attempt before the last one was charged. */
  readonly charged?: Microcredits;
}

/** Every status of a decision record. `recommended` is the status of a route query, which executes nothing. */
const DECIDED_STATUSES = ['completed', 'failed', 'broken', 'abandoned', 'recommended'] as const;
/** Every status of a record. A refused request has no decision; see `Refusal`. */
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
export const refusalSummary = (refusal: Refusal): RecordSummary => {
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
