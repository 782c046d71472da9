import type { UserRole } from '../people/people.ts';
import type { EscalationSignal } from '../request/escalation.ts';
import type { TierName } from '../request/tiers.ts';
import type { SourcePlace } from '../source-place.ts';

/**
 * A test case in a policy: an example request, and the decision that the policy must make. The policy check validates it. It runs before a
 * reload and in `signalbox policy test`.
 */
export interface PolicyCase {
  readonly name: string;
  readonly place: SourcePlace;
  readonly given: {
    /** Selector or model ID. The default of `model` is `auto`. */
    readonly model: string;
    /** The request's body as for `POST /v1/route`, without `model`. The check uses the schema of that route for `query`. */
    readonly query: Readonly<Record<string, unknown>>;
    /** A whole body of any dialect, which replaces `query`; absent for none. */
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
    /** The signal of failure that escalates the conversation, as if its latest answer had failed; absent for none. */
    readonly escalated?: EscalationSignal;
    /** The value of `time` in conditions, ISO 8601; null for a fixed Wednesday noon. */
    readonly time: string | null;
    /** The text that the model answers; absent if guards inspect only the request. */
    readonly answer?: string;
  };
  readonly expect: {
    /** IDs of models. The choice must be one of these models. */
    readonly models: readonly string[] | null;
    /** The provider of the choice's endpoint that would be tried first. */
    readonly provider: string | null;
    /** The task that Signalbox must recognise in the request. */
    readonly task: string | null;
    /** The expected `route_reason`. */
    readonly reason: string | null;
    /** The tier of the selector that must decide. */
    readonly tier: TierName | null;
    /** Model → the rule, or the kind of reason, that must reject the model. */
    readonly rejected: Readonly<Record<string, string>>;
    readonly costBelowCredits: number | null;
    readonly latencyBelowMs: number | null;
    readonly qualityAbove: number | null;
    /** The guard that must refuse the request, or block its answer. */
    readonly blocked: string | null;
    /** The guards that must mask a text of the request, or of its answer. */
    readonly masked: readonly string[];
    /** The guards that must repair the answer. */
    readonly repaired: readonly string[];
    /** Whether the cache must apply to the request; null if the case does not say. */
    readonly cached: boolean | null;
    /** The expected error code, if no model may be eligible. */
    readonly refused: string | null;
  };
}
