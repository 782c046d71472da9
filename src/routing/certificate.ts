import type { Rejection } from '../core/decision.ts';
import type { LanguageState } from '../core/language-support.ts';
import type { HealthState } from '../core/readings.ts';
import type { DeclaredLatency } from '../core/snapshot.ts';
import type { SourcePlace } from '../core/source-place.ts';

/** The origin of a quality, before languages and preferences: `declared` and the shares that were added to it, in order. */
export interface EstimateEntry {
  /** For the task, or the mean over the mix of tasks, 0..1. */
  readonly declared: number;
  /** By the length of the question. */
  readonly length: number;
  /** By outcomes, regardless of the text. */
  readonly outcomes: number;
  /** By the words of the question. */
  readonly text: number;
  /** Weighted number of outcomes of the task. */
  readonly count: number;
  /** The sum of all these in shadow mode, 0..1, where only `length` counts. Null where the sum counts. */
  readonly shadow: number | null;
}

/** Quality that a model gains for a programming language of the request. */
export interface LanguageEntry {
  /** Canonical name. */
  readonly language: string;
  readonly state: LanguageState;
  /** As a share of good answers, 0..1, before Q is capped at 1. */
  readonly adds: number;
}

export interface CandidateEntry {
  readonly model: string;
  /** 1 is the choice; null for a rejected model. */
  readonly rank: number | null;
  /** Expected share of good answers, 0..1; null where nobody states a quality. */
  readonly quality: number | null;
  /** Q, 0..1, by which it is ranked: that share with the worth of languages and preferences. */
  readonly countedQuality: number;
  /** Null where Q is the declared quality. */
  readonly estimate: EstimateEntry | null;
  /** Empty where the request names no language, or languages do not matter for its task. */
  readonly languages: readonly LanguageEntry[];
  /** C, Credits. */
  readonly costCredits: number;
  /** L, ms. */
  readonly latencyMs: number;
  readonly latencyBasis: LatencyBasis;
  /** Expected hidden reasoning of one choice, tokens; part of C and L. */
  readonly reasoningTokens: number;
  /** Null for a rejected model. */
  readonly utility: number | null;
  /** Terms of the utility, by name; empty where the strategy does not give them. */
  readonly parts: Readonly<Record<string, number>>;
  /** Expected input in tokens, and the part of it that is likely cached. */
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  /** Output tokens of one choice at most. */
  readonly outputCap: number;
  /** What lowered that, by `outputCappedBy`. */
  readonly cappedBy: string | null;
  /** Whether its first endpoint gets a schema of the answer in place of the forced call. */
  readonly adaptsForcedTool: boolean;
  /** The worst case, Credits, which is the amount reserved. */
  readonly worstCaseCredits: number;
  /** All endpoints, in the order in which they are tried. */
  readonly endpoints: readonly EndpointEntry[];
  readonly rejections: readonly RejectionEntry[];
}

/**
 * Origin of the speed behind L. `measured`: from answers of the endpoint. `stated`: from the policy. `estimated`: the
 * median of models of the same kind. `neutral`: the same for all.
 */
export type LatencyBasis = 'measured' | DeclaredLatency['basis'];

interface EndpointEntry {
  readonly provider: string;
  readonly upstream: string;
  readonly health: HealthState;
  /** Whether constraints, funds and health let it be tried. */
  readonly open: boolean;
}

export interface RejectionEntry {
  /** As in a case's `rejected`; `strategy` where the strategy gave no score. */
  readonly kind: Rejection | 'strategy';
  /** `it lacks vision` */
  readonly text: string;
  /** Constraints of the policy that caused it; empty for other causes. */
  readonly rules: readonly AppliedRule[];
}

export interface AppliedRule {
  readonly name: string;
  readonly place: SourcePlace;
}

export interface AppliedPreference extends AppliedRule {
  /** -1 to 1. */
  readonly worth: number;
  /** IDs of the models that it prefers. */
  readonly models: readonly string[];
}

export type Counterfactual = Pick<CandidateEntry, 'model' | 'costCredits' | 'latencyMs'> & { readonly quality: number };
