import type { Usage } from '../core/usage.ts';

/** `platform`: what Signalbox tells about an answer. The same, field for field, in JSON and in a stream. */
export interface Platform {
  readonly routed_model: string;
  readonly route_reason: string;
  readonly credits_consumed: number;
  readonly cost_saved_credits: number;
  readonly decision_id: string;
  readonly policy_revision: string;
  /** True when tokens were counted here rather than reported by the upstream. */
  readonly estimated: boolean;
  /** Fields of the request that nobody took: neither Signalbox nor the model. */
  readonly dropped: readonly string[];
}

/** How an exchange ended, in tokens and Credits. */
export interface Receipt {
  readonly usage: Usage;
  readonly platform: Platform;
}
