import type { Microcredits } from './credits.ts';
import type { ErrorCode } from './errors.ts';
import type { Estimate } from './estimate.ts';
import type { ExpectedLength } from './expected-length.ts';
import type { ExplorationDraw } from './exploration.ts';
import type { Facts } from './facts.ts';
import type { Operation } from './operation.ts';
import type { Usage } from './usage.ts';

/** A decision with its outcome, without text of the request or answer. */
export interface DecisionRecord {
  /** Grows with time; see `core/id.ts`. */
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly keyId: string;
  /** The operation that was carried out, or a recommendation. */
  readonly kind: Operation | 'route';
  /** The policy it was made under; see `findRevision`. */
  readonly revision: string;
  readonly seed: string;
  readonly facts: Facts;
  /** Whether a stream was asked for; null in records of version 0.1. */
  readonly stream: boolean | null;
  /** The labels of the key at the time; null in records of version 0.1. */
  readonly labels: Readonly<Record<string, string>> | null;
  /** The request's `metadata`, redacted, by the keys that the policy's `records.metadata` lists. */
  readonly metadata: Readonly<Record<string, string>>;
  /** IDs of the team and the user that the key belonged to; null for none. */
  readonly team: string | null;
  readonly user: string | null;
  /** The session that the request names; null for none. */
  readonly session: string | null;
  /** The agent of that session that the request names, and the one that started it; null for none. */
  readonly agent: string | null;
  readonly parentAgent: string | null;
  /** Who sent the request by the playground: the ID of a user, or of the key; null for a request of the key's bearer. */
  readonly sentBy: string | null;
  /** The expected length of the answer; null in records of earlier versions. */
  readonly expectedLength: ExpectedLength | null;
  /** The number of the readings that it was made by; 0 for those of the policy, null if none was stored. */
  readonly readingsNumber: number | null;
  /**
   * Q by index of the model in the revision; NaN if not computed. Null where no estimate corrected the declared ones: deciding
   * again computes them. Records of earlier versions have it always.
   */
  readonly quality: Float64Array | null;
  /** The estimate behind the qualities; null if they are the declared ones. */
  readonly estimate: Estimate | null;
  /** How the choice was drawn; null if it was the best. */
  readonly draw: ExplorationDraw | null;
  readonly reason: string;
  /** ID of the model. */
  readonly choice: string;
  readonly fallbacks: readonly string[];
  /** Endpoints ejected by a breaker, to try when all others fail; by index in their model. */
  readonly lastResorts: readonly { readonly model: string; readonly endpoints: readonly number[] }[];
  /** Null for a route query, which executes nothing, and while the request runs. */
  readonly outcome: DecisionOutcome | null;
}

export interface DecisionOutcome {
  /**
   * `failed`: no attempt returned content. `broken`: the answer was cut off. `abandoned`: the caller disconnected, the
   * process stopped, or memory had no room for the answer.
   */
  readonly status: 'completed' | 'failed' | 'broken' | 'abandoned';
  /** The error that the caller received. */
  readonly error: ErrorCode | null;
  /** In the order of time. */
  readonly attempts: readonly AttemptRecord[];
  /** Of the answer; null without one. */
  readonly usage: Usage | null;
  /** Whether the gateway counted the tokens. */
  readonly estimated: boolean;
  readonly charged: Microcredits;
  /** Against the baseline; negative if the choice cost more. */
  readonly saved: Microcredits;
  /** From admission. Null without content. */
  readonly firstPartMs: number | null;
  /** From admission. */
  readonly totalMs: number;
  /**
   * The fund that lowered the cap on the output, or `model` where the maximum of the model did, reached or not; null for neither,
   * and in records of version 0.1.
   */
  readonly cappedBy: string | null;
  /**
   * Whether a usage that cannot be true was replaced by the gateway's count in an answer that went out as it came; false in records
   * of earlier versions.
   */
  readonly usageReplaced: boolean;
  /** Fields of the request that reached the model in another form, as in `platform.adapted`; absent for none. */
  readonly adapted?: readonly string[];
}

export interface AttemptRecord {
  readonly model: string;
  readonly provider: string;
  readonly upstream: string;
  /** From admission to sending; null in records of earlier versions. */
  readonly startMs: number | null;
  /** From sending to the end. */
  readonly ms: number;
  /** From sending. Null without content. */
  readonly firstPartMs: number | null;
  /** The kind of failure; null for a success. */
  readonly failure: string | null;
  /** Index of the endpoint in its model; null in records of earlier versions. */
  readonly endpoint: number | null;
  /** The provider's ID of the request, for its support; null if it returned none. */
  readonly requestId: string | null;
  /** The provider's finish reason of each choice. */
  readonly finishReasons: readonly string[];
}

/** Every status of a record; `recommended` stands for a route query, which executes nothing. */
export const RECORD_STATUSES = ['completed', 'failed', 'broken', 'abandoned', 'recommended'] as const;
export type RecordStatus = (typeof RECORD_STATUSES)[number];

/** Every status of a decision. A running one has no record yet. */
export const DECISION_STATUSES = [...RECORD_STATUSES, 'running'] as const;

/** Whether the request of a decision still runs, so that its end is unknown. */
export const isRunning = ({ kind, outcome }: Pick<DecisionRecord, 'kind' | 'outcome'>): boolean =>
  outcome === null && kind !== 'route';

export const statusOf = ({ outcome }: Pick<DecisionRecord, 'outcome'>): RecordStatus =>
  outcome?.status ?? 'recommended';

/** @returns the ID of the model that was tried last; the choice where none was tried */
export const modelOf = ({ outcome, choice }: Pick<DecisionRecord, 'outcome' | 'choice'>): string =>
  outcome?.attempts.at(-1)?.model ?? choice;

/** A record as lists show it. Null where it lacks the fact, and where no attempt was made. */
export interface RecordSummary
  extends Pick<DecisionRecord, 'time' | 'stream' | 'labels' | 'metadata' | 'reason' | 'revision'> {
  /** `model` of the request; `pinned` where it named one model. */
  readonly selector: string;
  /** The provider that was tried last. */
  readonly provider: string | null;
  readonly error: ErrorCode | null;
  /** The number of attempts. */
  readonly attempts: number | null;
  readonly charged: Microcredits | null;
  readonly saved: Microcredits | null;
  readonly firstPartMs: number | null;
  readonly totalMs: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
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
    ...{ time, stream, labels, metadata, reason, revision },
    selector: facts.pinned ? 'pinned' : facts.model,
    provider: outcome?.attempts.at(-1)?.provider ?? null,
    error: outcome?.error ?? null,
    attempts: outcome?.attempts.length ?? null,
    charged: outcome?.charged ?? null,
    saved: outcome?.saved ?? null,
    firstPartMs: outcome?.firstPartMs ?? null,
    totalMs: outcome?.totalMs ?? null,
    inputTokens: outcome?.usage?.inputTokens ?? null,
    outputTokens: outcome?.usage?.outputTokens ?? null,
  };
}
