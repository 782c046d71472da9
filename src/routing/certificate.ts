import type { Rejection, RejectionGroup } from '../core/decision.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { Draw } from '../core/estimate.ts';
import type { LanguageState } from '../core/language-support.ts';
import type { LearningMode } from '../core/learning-policy.ts';
import type { HealthState } from '../core/readings.ts';
import type { DeclaredLatency } from '../core/snapshot.ts';
import type { SourcePlace } from '../core/source-place.ts';

/**
 * A decision in full: every model with its estimates, and why it stands where it does. Made by deciding again from
 * what was recorded, so it is no story told afterwards. Plain data without any text of the request.
 */
export interface Certificate {
  /** `route_reason`. */
  readonly reason: string;
  /** ID of the choice; null where no model was left. */
  readonly choice: string | null;
  /** Which kind of rejection a refusal answers for; null for a decision. */
  readonly refusedBy: RejectionGroup | null;
  /** What the caller of a refusal is told, the nearest relaxation included; null for a decision. */
  readonly refusal: { readonly code: ErrorCode; readonly message: string } | null;
  /** Whether the strategy gave no usable score, so that Q, C, L and ID alone decided. */
  readonly faulty: boolean;
  /** How the qualities were estimated; null where they are the declared ones. */
  readonly learning: LearningEntry | null;
  /** How the choice was drawn; null where it is the best without a draw. */
  readonly draw: DrawEntry | null;
  /** Number of the frame of readings; 0 where nothing had been seen. */
  readonly frame: number;
  /** Expected visible output tokens of one choice. */
  readonly outputTokens: number;
  /** v·C_ref: what a good answer to this request is worth, Credits. */
  readonly answerWorth: number;
  /** Every model that was looked at: the eligible ones best first, then the others by ID. */
  readonly candidates: readonly CandidateEntry[];
  /** The rules that applied. */
  readonly constraints: readonly AppliedRule[];
  readonly preferences: readonly AppliedPreference[];
  /** ID of what would have been chosen without preferences; null where none applied, and for a refusal. */
  readonly unpreferred: string | null;
  /** The next best candidate; null without one. */
  readonly runnerUp: Counterfactual | null;
  /** The model that savings are measured against; null for a pinned model, and a refusal. */
  readonly baseline: Counterfactual | null;
}

export interface LearningEntry {
  /** `off`: the length of the question alone moves what is declared. `shadow`: what was learnt is shown, and not used. */
  readonly mode: LearningMode;
  /** How far the words of the question are trusted, 0..1. */
  readonly trust: number;
  /** ID of what would be chosen by all that was learnt; null where it is used, or nothing was learnt, for a pinned model, and a refusal. */
  readonly choice: string | null;
}

/** The draw of a choice. */
export interface DrawEntry extends Draw {
  /** ID of the best by utility. */
  readonly best: string;
}

/** Where a quality comes from, before languages and preferences: `declared` and what was added to it one after the other, as shares. */
export interface EstimateEntry {
  /** Of the task, or of the mix of tasks, 0..1. */
  readonly declared: number;
  /** By the length of the question. */
  readonly length: number;
  /** By outcomes, whatever the text. */
  readonly outcomes: number;
  /** By the words of the question. */
  readonly text: number;
  /** How many outcomes of the task there were. */
  readonly count: number;
  /** The sum of all these where it is only shown, 0..1: the quality that was used has the length alone. Null where it is used. */
  readonly shadow: number | null;
}

/** What a language that the request is about adds to the quality of a model. */
export interface LanguageEntry {
  /** Its canonical name. */
  readonly language: string;
  /** What the policy says of the model and the language. */
  readonly state: LanguageState;
  /** As a share of good answers, 0..1; before Q is held to 1. */
  readonly adds: number;
}

export interface CandidateEntry {
  readonly model: string;
  /** 1 is the choice; null for a model that was left out. */
  readonly rank: number | null;
  /** Q, 0..1, languages and preferences included. */
  readonly quality: number;
  /** What Q is made of; null where it is the declared one. */
  readonly estimate: EstimateEntry | null;
  /** What was added to Q by language; empty where the request is about none, or its task is none where they matter. */
  readonly languages: readonly LanguageEntry[];
  /** C, Credits. */
  readonly costCredits: number;
  /** L, ms. */
  readonly latencyMs: number;
  /** Where the speed behind L comes from. */
  readonly latencyBasis: LatencyBasis;
  /** Expected hidden reasoning of one choice, tokens; part of C and L. */
  readonly reasoningTokens: number;
  /** Null for a model that was left out. */
  readonly utility: number | null;
  /** What the utility is the sum of, by name; empty where the strategy does not tell. */
  readonly parts: Readonly<Record<string, number>>;
  /** Expected input, tokens, and how much of it is likely to be cached. */
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  /** Output tokens of one choice at most. */
  readonly outputCap: number;
  /** The worst case, Credits: what is reserved for it. */
  readonly worstCaseCredits: number;
  /** In the order in which they are tried; those that may not be tried with them. */
  readonly endpoints: readonly EndpointEntry[];
  readonly rejections: readonly RejectionEntry[];
}

/**
 * `measured`: answers of the endpoint were timed here. `stated`: the policy says. Where it does not, `estimated` is the
 * median of models of the same kind and `neutral` the same for all.
 */
export type LatencyBasis = 'measured' | DeclaredLatency['basis'];

export interface EndpointEntry {
  readonly provider: string;
  readonly upstream: string;
  readonly health: HealthState;
  /** Whether it may be tried: constraints, funds and health leave it. */
  readonly open: boolean;
}

export interface RejectionEntry {
  /** As in a case's `rejected`: `capability`, `constraint`, …; `strategy` for a model that the strategy does not want. */
  readonly kind: Rejection | 'strategy';
  /** In words: `it lacks vision`. */
  readonly text: string;
  /** The rules of the policy behind it; empty where the request itself or the model is. */
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

export interface Counterfactual {
  readonly model: string;
  readonly quality: number;
  readonly costCredits: number;
  readonly latencyMs: number;
}
