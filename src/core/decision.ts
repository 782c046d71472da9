import type { Microcredits } from './credits.ts';
import type { Estimate } from './estimate.ts';
import type { ExplorationDraw } from './exploration.ts';
import type { Facts } from './facts.ts';
import type { Readings } from './readings.ts';

/** Why a candidate was left out, as bits. Several may hold at once. */
export const REJECTIONS = {
  operation: { bit: 1 << 13, group: 'constraints' },
  key_models: { bit: 1 << 0, group: 'constraints' },
  capability: { bit: 1 << 1, group: 'constraints' },
  language: { bit: 1 << 2, group: 'constraints' },
  max_output: { bit: 1 << 3, group: 'constraints' },
  max_cost: { bit: 1 << 4, group: 'constraints' },
  max_latency: { bit: 1 << 5, group: 'constraints' },
  dimensions: { bit: 1 << 15, group: 'constraints' },
  vector_space: { bit: 1 << 16, group: 'constraints' },
  thread: { bit: 1 << 17, group: 'constraints' },
  thoughts: { bit: 1 << 18, group: 'constraints' },
  selector: { bit: 1 << 9, group: 'constraints' },
  constraint: { bit: 1 << 10, group: 'constraints' },
  unbounded_media: { bit: 1 << 8, group: 'constraints' },
  unpriced: { bit: 1 << 14, group: 'constraints' },
  context: { bit: 1 << 6, group: 'context' },
  budget_limit: { bit: 1 << 7, group: 'budget' },
  funds: { bit: 1 << 11, group: 'funds' },
  health: { bit: 1 << 12, group: 'health' },
} as const;

export type Rejection = keyof typeof REJECTIONS;
/** In the order in which rejections are taken away to find the one that decides the status. */
export const REJECTION_GROUPS = ['health', 'funds', 'budget', 'context', 'constraints'] as const;
export type RejectionGroup = (typeof REJECTION_GROUPS)[number];

/** A candidate of a decision with what was estimated for it. */
export interface RankedModel {
  /** Index of the model in the snapshot. */
  readonly model: number;
  /** Expected share of good answers, 0..1: what people are shown. Null where nobody states a quality: of a wildcard's model. */
  readonly share: number | null;
  /** Q, 0..1, by which it is ranked: that share with the worth of languages and preferences. */
  readonly quality: number;
  /** C: expected Credits. */
  readonly costCredits: number;
  /** L: expected milliseconds to the end. */
  readonly latencyMs: number;
  /** 0 for a model that the request names: it is not scored. */
  readonly utility: number;
  /** Expected tokens of input and of the output of all choices, hidden reasoning included. */
  readonly tokens: number;
  /** Output tokens of one choice that are allowed at most; sent upstream as the cap. */
  readonly outputCap: number;
  /** The fund whose money lowered that cap; null for none. */
  readonly cappedBy: string | null;
  /** Which of the model's endpoints may be tried, in this order. Never empty. */
  readonly endpoints: readonly number[];
  /** The worst case, over these endpoints. */
  readonly bound: Microcredits;
}

/** A way that a request may go: an endpoint of one of the decision's models. */
export interface RankedEndpoint {
  readonly ranked: RankedModel;
  /** Index of the endpoint in its model. */
  readonly at: number;
}

export interface Decision {
  /** See `core/id.ts`; outside it is `dec_…`. */
  readonly id: number;
  /** Replays whatever chance there was, with the facts and the revision. Hexadecimal, 64 bits. */
  readonly seed: string;
  readonly revision: string;
  readonly facts: Facts;
  /** Health and speed of the endpoints at the time. */
  readonly readings: Readings;
  /** A short, stable label: `auto:balanced`, `pinned`. */
  readonly reason: string;
  /** The choice first, then the fallbacks. Never empty. */
  readonly ranked: readonly [RankedModel, ...RankedModel[]];
  /**
   * For when all others fail, best first: endpoints that a breaker has ejected, of models that could serve else, then models
   * that would lose the thoughts of the tool calls under way.
   */
  readonly lastResorts: readonly RankedModel[];
  /** How many models were eligible. */
  readonly eligible: number;
  /** Q of every model of the snapshot, in its order, as this request saw it, languages and preferences included. */
  readonly quality: Float64Array;
  /** The estimate behind the qualities; null where they are the declared ones. */
  readonly estimate: Estimate | null;
  /** How the choice was drawn, by an earlier version; null where it is the best. */
  readonly draw: ExplorationDraw | null;
  /** Index of the model that savings are measured against. */
  readonly baseline: number;
}

/** No model is left: every candidate with its rejections. */
export interface Refusal {
  readonly group: RejectionGroup;
  readonly facts: Facts;
  readonly readings: Readings;
  readonly rejected: readonly { readonly model: number; readonly rejections: number }[];
}
