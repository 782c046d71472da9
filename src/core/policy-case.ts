import type { UserRole } from './people.ts';
import type { SourcePlace } from './source-place.ts';

/**
 * A test that a policy carries: a request as it might come, and what the policy must make of it.
 * Checked by the policy room, run by the rehearsal before a reload and by `signalbox policy test`.
 */
export interface PolicyCase {
  readonly name: string;
  readonly place: SourcePlace;
  readonly given: {
    /** Selector or model ID; `auto` when left out. */
    readonly model: string;
    /** The request's body as for `/v1/route`, without `model`. Checked with that schema. */
    readonly query: Readonly<Record<string, unknown>>;
    /** A whole body of any dialect, in place of `query`; absent for none. */
    readonly body?: Readonly<Record<string, unknown>>;
    readonly metadata: Readonly<Record<string, string>>;
    readonly key: {
      readonly id: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly models: readonly string[] | null;
    };
    /** The team and the user that the key belongs to; null for none. */
    readonly team: { readonly id: string; readonly name: string } | null;
    readonly user: { readonly id: string; readonly name: string; readonly role: UserRole } | null;
    /** ISO 8601, for `time`; null for a fixed Wednesday noon. */
    readonly time: string | null;
  };
  readonly expect: {
    /** IDs of models, one of which is chosen. */
    readonly models: readonly string[] | null;
    /** The provider of the choice whose endpoint would be tried first. */
    readonly provider: string | null;
    /** The task that the request is read as. */
    readonly task: string | null;
    /** `route_reason`. */
    readonly reason: string | null;
    /** Model → the rule, or the kind of reason, that rejects it. */
    readonly rejected: Readonly<Record<string, string>>;
    readonly costBelowCredits: number | null;
    readonly latencyBelowMs: number | null;
    readonly qualityAbove: number | null;
    /** An error code, when no model may be left. */
    readonly refused: string | null;
  };
}
