import type { Rejection } from '../core/decision/decision.ts';
import type { HealthState } from '../core/decision/readings.ts';
import type { DeclaredLatency } from '../core/policy/snapshot.ts';
import type { TierName, TierReason } from '../core/request/tiers.ts';
import type { SourcePlace } from '../core/source-place.ts';

export interface CandidateEntry {
  readonly model: string;
  /** The rank of the model: 1 for the choice; null for a rejected model. */
  readonly rank: number | null;
  /** The expected share of good answers, 0..1; null if neither the policy nor the catalog states a quality. */
  readonly quality: number | null;
  /** Q, 0..1, the quality used for ranking: the share of good answers as a choice counts it, plus the worth of preferences. */
  readonly countedQuality: number;
  /** C, the expected cost in Credits. */
  readonly costCredits: number;
  /** L, the expected latency in ms. */
  readonly latencyMs: number;
  readonly latencyBasis: LatencyBasis;
  /** The expected hidden reasoning of one choice, in tokens. The expected cost C and the expected latency L include hidden reasoning. */
  readonly reasoningTokens: number;
  /** The strategy's score; null for a rejected model, and for models that a ladder orders. */
  readonly utility: number | null;
  /** The terms that add up to the utility, by name; empty if the strategy does not report them. */
  readonly parts: Readonly<Record<string, number>>;
  /** The expected input in tokens, and how many of these tokens are probably cached. */
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  /** The maximum output tokens of one choice. */
  readonly outputCap: number;
  /** The limit that lowered the output cap, as `outputCappedBy` names it; null if nothing lowered it. */
  readonly cappedBy: string | null;
  /** Whether the model's first endpoint receives a JSON schema for the answer instead of the forced tool call. */
  readonly adaptsForcedTool: boolean;
  /** The worst-case cost in Credits, which is the amount that Signalbox reserves. */
  readonly worstCaseCredits: number;
  /** All endpoints of the model, in the order in which Signalbox tries them. */
  readonly endpoints: readonly EndpointEntry[];
  readonly rejections: readonly RejectionEntry[];
}

/**
 * The origin of the speed used for L. `measured`: from answers of the endpoint. `stated`: from the policy. `estimated`: the median of
 * models of the same kind. `neutral` and `slow`: figures that are the same for all models.
 */
export type LatencyBasis = 'measured' | DeclaredLatency['basis'];

interface EndpointEntry {
  readonly provider: string;
  readonly upstream: string;
  readonly health: HealthState;
  /** Whether constraints, prices, funds and health allow a request to this endpoint. */
  readonly open: boolean;
  /** What the request may be billed for that has no price at this endpoint, if the request needs a price of everything. */
  readonly unpriced: readonly string[];
}

export interface RejectionEntry {
  /** The kind of rejection, as a policy case names it under `rejected`; `strategy` if the strategy gave no score. */
  readonly kind: Rejection | 'strategy';
  /** The reason as a clause, such as `it lacks vision`. */
  readonly text: string;
  /** The constraints of the policy that caused the rejection; empty for other causes. */
  readonly rules: readonly AppliedRule[];
}

export interface AppliedRule {
  readonly name: string;
  readonly place: SourcePlace;
}

export interface AppliedPreference extends AppliedRule {
  /** The amount that the preference adds to the quality, -1 to 1. */
  readonly worth: number;
  /** IDs of the models that the preference applies to. */
  readonly models: readonly string[];
}

export type Counterfactual = Pick<CandidateEntry, 'model' | 'costCredits' | 'latencyMs'> & { readonly quality: number };

/** The tier of a request, and the order of the ladder that chose for it. */
export interface TierEntry {
  readonly name: TierName;
  readonly why: TierReason;
  /** IDs of the models that the selector may choose, in its order. */
  readonly order: readonly string[];
  /** IDs of the models that the policy states for each tier; null if it states none. */
  readonly stated: Readonly<Record<TierName, readonly string[]>> | null;
  /** The selector whose choice is taken if it is cheaper or faster; null for none. */
  readonly limitedBy: string | null;
  /** How likely the first question is hard, 0..1, and from which probability a conversation is hard. */
  readonly hard: number;
  readonly strongFrom: number;
}
