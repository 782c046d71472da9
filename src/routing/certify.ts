import type { RankedModel } from '../core/decision/decision.ts';
import { priorReadings, type Readings } from '../core/decision/readings.ts';
import { timeOfId } from '../core/id.ts';
import { toCredits } from '../core/money/credits.ts';
import { modelOf } from '../core/policy/model-of.ts';
import { hasBit, type Preference } from '../core/policy/rules.ts';
import type { Model, PolicySnapshot } from '../core/policy/snapshot.ts';
import type { Facts } from '../core/request/facts.ts';
import { statedIds } from '../core/request/tiers.ts';
import type {
  AppliedPreference,
  AppliedRule,
  CandidateEntry,
  Counterfactual,
  LatencyBasis,
  RejectionEntry,
  TierEntry,
} from './certificate.ts';
import { choiceReason } from './choice-reason.ts';
import { type DecisionContext, refusalOf } from './decide.ts';
import {
  affordableCap,
  cachedInput,
  dearestCase,
  type ExpectedWriting,
  expectedReasoning,
  expectedWriting,
  outputCap,
  taskOf,
  withinFunds,
} from './estimate.ts';
import { type AppliedLadder, type ChoiceOptions, callerWeights, Evaluation } from './evaluate.ts';
import { expectedLength, measuredTasks } from './expected-length.ts';
import { adaptedFields } from './forced-function.ts';
import { expectedInput } from './input-tokens.ts';
import { outputCappedBy } from './output-maximum.ts';
import { type TieBreaker, tieBreaker } from './rank.ts';
import { type RefusedRequest, refusalError } from './refuse.ts';
import { type DecisionInputs, healthOf, judgedFigures, rejectionsAgainst, unpricedAt } from './rejections.ts';
import { allowedEndpoints, endpointsFor, openEndpoints } from './rules.ts';

/**
 * A complete explanation of a decision: every model with its estimates, its rank and the reasons. Signalbox creates a certificate by
 * repeating the decision from its record. A certificate is plain data and contains no text of the request.
 */
export type Certificate = Readonly<ReturnType<typeof certify>>;

/** The inputs of a repeated decision. A record has neither the request nor the caller. */
type CertificateContext = DecisionContext & Pick<RefusedRequest, 'request' | 'caller'>;

/** Repeats a decision and keeps every candidate. The first candidate is the model that `Decider.decide` chooses for the same arguments. */
export function certify(snapshot: PolicySnapshot, facts: Facts, context: CertificateContext) {
  const { id, readings = priorReadings(snapshot), caller, request } = context;
  const evaluation = new Evaluation(snapshot);
  const quality = evaluation.fill(facts, readings);
  const shares = sharesOf(evaluation, snapshot);
  const { n, rejected, isLastResort: lastResort, isListed } = evaluation.shortlist;
  const writing = expectedWriting(facts, snapshot, readings);
  const inputs: CertificateInputs = { facts, readings, snapshot, lastResort, writing, caller };
  const outcome = n > 0 ? evaluation.choose(facts, context, n) : null;
  // A model that the request names is chosen without a score, but the explanation shows its score.
  if (facts.named !== null && outcome) evaluation.rank(facts, context, n);
  const applied = outcome?.applied ?? null;
  const reason = applied && { facts, quality, ladder: evaluation.reasonOf(applied) };
  const eligible = eligibleEntries(evaluation, context, applied !== null, inputs);
  const ineligible = rejected.map(({ model, rejections }) => {
    const qualities = { share: evaluation.shareOf(model), quality: quality[model]! };
    const entry = candidateEntry(estimateRejected(model, rejections, qualities, inputs), inputs);
    return { ...entry, rejections: rejectionsAgainst(snapshot.models[model]!, rejections, inputs) };
  });
  const candidates = [...eligible, ...ineligible].sort(byRankThenId);
  const tieDecidedBy = outcome && facts.named === null && applied === null ? tieBetweenBest(evaluation, facts) : null;
  const [choice = null, runnerUp = null] = candidates.filter(({ rank }) => rank !== null);
  const baseline = n === 0 || facts.named !== null ? null : snapshot.models[evaluation.baseline(facts)]!.id;
  const refusal = n === 0 ? refusalOf(facts, readings, rejected) : null;
  const error = refusal && refusalError(refusal, snapshot, { now: timeOfId(id), caller, request });
  // This function must run after everything else that reads the shortlist, because each call overwrites the shortlist.
  const choiceOf = (other: Facts): string | null => {
    evaluation.fill(other, readings);
    evaluation.choose(other, context, 1);
    const [first] = evaluation.order;
    return first === undefined ? null : snapshot.models[evaluation.shortlist.model[first]!]!.id;
  };
  const { constraints, preferences } = facts.rules;
  const unpreferring = { ...facts, rules: { ...facts.rules, preferences: [] } };
  return {
    /** The value of `route_reason`. */
    reason: outcome?.reason ?? context.reason,
    /** The ID of the chosen model; null for a refusal. */
    choice: choice?.model ?? null,
    /** Why the ladder of the selector gave the choice, as a clause; null if no ladder chose the model. */
    choiceReason: reason && choiceReason(reason, snapshot),
    /** The tier of the request, with the order of its ladder; null if no ladder chose the model. */
    tier: applied && tierEntry(applied, facts, snapshot),
    /** The model that the request names, if a fallback of it is the choice; null otherwise. */
    insteadOf: outcome?.insteadOf ?? null,
    /** Whether the choice is a listed fallback of a selector that has no eligible model of its own. */
    isListed,
    /** The group of rejections that determines the status of a refusal; null for a decision. */
    refusedBy: refusal?.group ?? null,
    /** The error of a refusal, including the smallest change that would make a model eligible; null for a decision. */
    refusal: error && { code: error.code, message: error.message },
    /** Whether the strategy gave no usable score, so that quality, cost, latency and ID decided. */
    faulty: outcome?.faulty ?? false,
    /** The criterion that decided between the choice and the second-best candidate; null if their utilities differ. */
    tieDecidedBy,
    /** The number of the stored readings; 0 if there are none. */
    readingsNumber: readings.number,
    expectedLength: expectedLength(facts, snapshot, readings),
    /** The tasks whose measured answer lengths are part of the expected length. */
    measuredTasks: measuredTasks(facts, snapshot, readings),
    /** The eligible models from best to worst, then the rejected models by ID. */
    candidates,
    /** The expected share of good answers, 0..1, by model ID. `shares` has no models without a known quality. */
    shares,
    /** The constraints that applied to the request. */
    constraints: constraints.map((at) => ruleOf(snapshot.constraints[at]!)),
    preferences: preferences.map((at) => preferenceOf(snapshot.preferences[at]!, snapshot)),
    /** The ID of the model that would be chosen without preferences; null if no preference applied, and for a refusal. */
    unpreferred: choice && preferences.length > 0 ? choiceOf(unpreferring) : null,
    /** The choice and the second-best candidate, if they were found at servers of the operator. */
    found: [choice, runnerUp].flatMap((one) => {
      const mark = one && modelOf(one.model, snapshot).found;
      return mark ? [{ model: one.model, ...mark }] : [];
    }),
    /** The second-best candidate; null if there is only one. */
    runnerUp: runnerUp && counterfactual(runnerUp),
    /** The model that savings are measured against; null for a model that the request names, and for a refusal. */
    baseline: baseline === null ? null : counterfactual(candidates.find(({ model }) => model === baseline)!),
  };
}

/** Returns the criterion that decided between the two best candidates of the last ranking; null if their utilities differ. */
function tieBetweenBest(evaluation: Evaluation, facts: Facts): TieBreaker | null {
  const { order, utility } = evaluation;
  const [first, second] = order;
  if (first === undefined || second === undefined || utility[first] !== utility[second]) return null;
  return tieBreaker(first, second, evaluation.candidates(facts));
}

/** Returns the tier of a request, with the IDs of the models in the order of the ladder. */
function tierEntry(
  { name, why, ladder: { order, stated, limit } }: AppliedLadder,
  { tier }: Facts,
  { models, strongFrom }: PolicySnapshot,
): TierEntry {
  const idsOf = (indexes: readonly number[]) => indexes.map((at) => models[at]!.id);
  return {
    name,
    why,
    order: idsOf(order),
    stated: statedIds(stated, idsOf),
    limitedBy: limit?.selector ?? null,
    hard: tier?.hard ?? 0,
    strongFrom,
  };
}

const sharesOf = (evaluation: Evaluation, { models }: PolicySnapshot) =>
  Object.fromEntries(
    models.flatMap(({ id }, at) => {
      const share = evaluation.shareOf(at);
      return share === null ? [] : [[id, share]];
    }),
  );

interface CertificateInputs extends DecisionInputs {
  readonly writing: ExpectedWriting;
}

/** Creates the entries of the shortlist, from best to worst. A model without a score has no rank. */
function eligibleEntries(
  evaluation: Evaluation,
  { strategy }: ChoiceOptions,
  isLaddered: boolean,
  inputs: CertificateInputs,
): CandidateEntry[] {
  const { shortlist, order } = evaluation;
  const candidates = evaluation.candidates(inputs.facts);
  const weights = callerWeights(inputs.facts);
  const isWanted = (at: number) => evaluation.utility[at] !== Number.NEGATIVE_INFINITY;
  const unwanted = Array.from({ length: shortlist.n }, (_, at) => at).filter((at) => !isWanted(at));
  return [...order, ...unwanted].map((at, place) => {
    const ranked = evaluation.rankedAt(at, inputs.facts);
    const entry = candidateEntry(ranked, inputs);
    if (!isWanted(at)) return { ...entry, rejections: [UNWANTED] };
    if (isLaddered || strategy.per === 'build') return { ...entry, rank: place + 1 };
    const parts = utilityParts(ranked.utility, () => strategy.parts?.(candidates, at, weights));
    return { ...entry, rank: place + 1, utility: ranked.utility, parts };
  });
}

const UNWANTED: RejectionEntry = { kind: 'strategy', text: 'the strategy rules it out', rules: [] };

/**
 * The tolerance when the terms of a utility are added up: utilities are rounded to a billionth, and sums of doubles differ in their last
 * bits.
 */
const PARTS_SLACK = 2e-9;

/** Returns the strategy's terms of a utility if they are finite and add up to the utility; otherwise an empty object. */
function utilityParts(utility: number, ask: () => unknown): Readonly<Record<string, number>> {
  try {
    const terms = Object.entries(ask() ?? {});
    const parts = terms.filter((part): part is [string, number] => Number.isFinite(part[1]));
    const sum = parts.reduce((all, [, value]) => all + value, 0);
    const isTrue = parts.length === terms.length && Math.abs(sum - utility) <= PARTS_SLACK * Math.max(1, Math.abs(sum));
    return isTrue ? Object.fromEntries(parts) : {};
  } catch {
    return {};
  }
}

type CandidateEstimate = Omit<RankedModel, 'utility' | 'tokens'>;

/** Estimates figures for a rejected model on the endpoints that constraints allow, or on all endpoints if constraints allow none. */
function estimateRejected(
  index: number,
  rejections: number,
  qualities: Pick<RankedModel, 'share' | 'quality'>,
  inputs: DecisionInputs,
): CandidateEstimate {
  const { facts, readings, snapshot } = inputs;
  const model = snapshot.models[index]!;
  const allowed = endpointsFor(model, facts, snapshot);
  const priced = allowed.length > 0 ? allowed : allowedEndpoints(model, null, facts.needs);
  const cap = Math.max(0, affordableCap(model, priced, facts, outputCap(model, facts)));
  const open = openEndpoints(model, allowed, readings, false);
  const funded = withinFunds(model, open, facts, taskOf(facts, snapshot), cap);
  return {
    model: index,
    ...qualities,
    ...judgedFigures(model, rejections, inputs),
    outputCap: cap,
    cappedBy: null,
    endpoints: funded?.endpoints ?? open,
    bound: dearestCase(model, priced, facts, cap),
  };
}

/** Creates the entry of a model without its rank, utility and rejections. */
function candidateEntry(
  estimate: CandidateEstimate,
  { facts, readings, snapshot, writing }: CertificateInputs,
): CandidateEntry {
  const { costCredits, latencyMs, endpoints: open } = estimate;
  const model = snapshot.models[estimate.model]!;
  const inputTokens = expectedInput(facts, model);
  return {
    model: model.id,
    rank: null,
    quality: estimate.share,
    countedQuality: estimate.quality,
    costCredits,
    latencyMs,
    latencyBasis: latencyBasisOf(model, open[0] ?? 0, readings),
    reasoningTokens: expectedReasoning(model, writing),
    utility: null,
    parts: {},
    inputTokens,
    cachedInputTokens: cachedInput(facts, model, open[0] ?? 0, inputTokens),
    outputCap: estimate.outputCap,
    cappedBy: outputCappedBy(estimate, model, facts),
    adaptsForcedTool: adaptedFields(facts.needs, model.endpoints[open[0] ?? 0]!) !== null,
    worstCaseCredits: toCredits(estimate.bound),
    endpoints: model.endpoints.map((endpoint, at) => ({
      provider: endpoint.provider,
      upstream: endpoint.upstream,
      health: healthOf(readings, model.firstSlot + at),
      open: open.includes(at),
      unpriced: facts.budget === null && facts.funds === null ? [] : unpricedAt(endpoint, facts),
    })),
    rejections: [],
  };
}

/** Every observation of an endpoint changes its figures, so figures that differ from the policy's were measured. */
function latencyBasisOf({ firstSlot, latency }: Model, endpoint: number, readings: Readings): LatencyBasis {
  const slot = firstSlot + endpoint;
  const isDeclared =
    readings.ttftMs[slot] === latency.ttftMs && readings.tokensPerSecond[slot] === latency.outputTokensPerSecond;
  return isDeclared ? latency.basis : 'measured';
}

function byRankThenId(a: CandidateEntry, b: CandidateEntry): number {
  if (a.rank !== b.rank) return (a.rank ?? Number.POSITIVE_INFINITY) - (b.rank ?? Number.POSITIVE_INFINITY);
  return a.model < b.model ? -1 : 1;
}

const ruleOf = ({ name, place }: AppliedRule): AppliedRule => ({ name, place });

function preferenceOf(preference: Preference, { models }: PolicySnapshot): AppliedPreference {
  const preferred = models.filter((_, at) => hasBit(preference.prefers, at));
  return { ...ruleOf(preference), worth: preference.worth, models: preferred.map(({ id }) => id) };
}

function counterfactual({ model, quality, countedQuality, costCredits, latencyMs }: CandidateEntry): Counterfactual {
  return { model, quality: quality ?? countedQuality, costCredits, latencyMs };
}
