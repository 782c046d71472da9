import type { Microcredits } from '../core/credits.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { Draw, Estimate } from '../core/estimate.ts';
import type { Facts } from '../core/facts.ts';
import type { Usage } from '../core/usage.ts';

/** A decision as it was made and what came of it. Holds no text of the request or the answer. */
export interface DecisionRecord {
  /** See `core/id.ts`: the order of IDs is the order of time. */
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly keyId: string;
  readonly kind: 'chat' | 'route';
  /** Names the policy it was made under; `findRevision` gives that policy. */
  readonly revision: string;
  readonly seed: string;
  readonly facts: Facts;
  /** Number of the frame of readings it was made by; 0 for what the policy says, null where none was kept. */
  readonly frame: number | null;
  /** Q per model, by the index of the model in the revision; NaN where none was computed. */
  readonly quality: Float64Array;
  /** What the qualities were estimated from; null where they are the declared ones. */
  readonly estimate: Estimate | null;
  /** How the choice was drawn; null where it was the best. */
  readonly draw: Draw | null;
  readonly reason: string;
  /** ID of the model. */
  readonly choice: string;
  readonly fallbacks: readonly string[];
  /** Endpoints that a breaker had ejected, by the index in their model: for when all others fail. */
  readonly lastResorts: readonly { readonly model: string; readonly endpoints: readonly number[] }[];
  /** Null for a route query: nothing was carried out. */
  readonly outcome: Outcome | null;
}

export interface Outcome {
  /** `failed`: no attempt showed content. `broken`: the answer was cut off. `abandoned`: the caller went away, the process stopped, or memory had no room for the answer. */
  readonly status: 'completed' | 'failed' | 'broken' | 'abandoned';
  /** What the caller was told, when it failed. */
  readonly error: ErrorCode | null;
  /** In the order in which they were made. */
  readonly attempts: readonly AttemptRecord[];
  /** Of the attempt that was answered with; null when none was. */
  readonly usage: Usage | null;
  /** True when tokens were counted here. */
  readonly estimated: boolean;
  readonly charged: Microcredits;
  /** Against the baseline; negative when the choice cost more. */
  readonly saved: Microcredits;
  /** From admission. Null when no content came. */
  readonly firstPartMs: number | null;
  /** From admission. */
  readonly totalMs: number;
}

export interface AttemptRecord {
  readonly model: string;
  readonly provider: string;
  readonly upstream: string;
  /** From sending to the end. */
  readonly ms: number;
  /** From sending. Null when no content came. */
  readonly firstPartMs: number | null;
  /** The kind of failure; null for a success. */
  readonly failure: string | null;
  /** Index of the endpoint in its model; null in what earlier versions wrote. */
  readonly endpoint: number | null;
  /** The provider's own name of the request, for its support; null where it gave none. */
  readonly requestId: string | null;
  /** Why each choice ended, in the provider's own words, by the choice. */
  readonly finishReasons: readonly string[];
}

/** A policy that was in force. */
export interface Revision {
  readonly revision: string;
  /** The policy's files as text. */
  readonly source: string;
  /** The models that it served, in the order of its records' figures. */
  readonly models: readonly string[];
  /** Null where an earlier version saved it. */
  readonly surroundings: Surroundings | null;
  /** Milliseconds since 1970. */
  readonly saved: number;
}

/** What a policy met, as far as it takes part in decisions. Names and hashes, never a value. */
export interface Surroundings {
  /** Variables that providers need and that were not set. */
  readonly unset: readonly string[];
  /** The operator's own plugins, with the hash of their code. */
  readonly plugins: readonly (readonly [specifier: string, hash: string])[];
}
