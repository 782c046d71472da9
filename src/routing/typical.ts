import type { Candidates, PreparedStrategy } from '../contract/strategy.ts';
import { priorReadings } from '../core/decision/readings.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { Difficulty, Facts } from '../core/request/facts.ts';
import { Evaluation } from './evaluate.ts';
import { withDifficulty } from './facts.ts';
import { holdToFloor, selectTop } from './rank.ts';

/** The typical requests of a task. */
interface TaskTraffic {
  /** Index of the task. */
  readonly task: number;
  /** The share of all requests. All shares sum to 1. */
  readonly share: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The mean of all typical requests: what a strategy scores, by index of the model in the snapshot. */
export interface TypicalRequest {
  /** 1 if the model can serve the typical requests of every task. */
  readonly serves: Uint8Array;
  readonly candidates: Candidates;
}

/**
 * Returns the typical request of a policy at a difficulty: means over the tasks of its traffic, weighted by their shares. The estimates are
 * made as for a request from a key without labels under the rules without a condition, with the figures of the policy. Yields between tasks.
 * @param qualityFactor how many times as much quality counts; for hard requests, the policy's own factor applies
 */
export function* typicalRequest(
  snapshot: PolicySnapshot,
  traffic: readonly TaskTraffic[],
  difficulty: Difficulty,
  qualityFactor = 1,
): Generator<undefined, TypicalRequest> {
  const n = snapshot.models.length;
  const evaluation = new Evaluation(snapshot);
  const readings = priorReadings(snapshot);
  const served = new Uint8Array(n);
  const sums = { quality: new Float64Array(n), exactQuality: new Float64Array(n) };
  const figures = { cost: new Float64Array(n), latency: new Float64Array(n) };
  const mean = { costReference: 0, qualityFactor: 0, outputTokens: 0 };
  for (const one of traffic) {
    const read = typicalFacts(one, difficulty, snapshot);
    const facts: Facts = { ...read, ...(read.qualityFactor === undefined && qualityFactor > 1 && { qualityFactor }) };
    evaluation.fill(facts, readings, null);
    const candidates = evaluation.candidates(facts);
    const { model } = evaluation.shortlist;
    const exact = candidates.exactQuality ?? candidates.quality;
    for (let at = 0; at < candidates.n; at++) {
      const index = model[at]!;
      served[index]!++;
      sums.quality[index]! += one.share * candidates.quality[at]!;
      sums.exactQuality[index]! += one.share * exact[at]!;
      figures.cost[index]! += one.share * candidates.cost[at]!;
      figures.latency[index]! += one.share * candidates.latency[at]!;
    }
    mean.costReference += one.share * candidates.costReference;
    mean.qualityFactor += one.share * (candidates.qualityFactor ?? 1);
    mean.outputTokens += one.share * (candidates.outputTokens ?? 0);
    yield;
  }
  const { quality, exactQuality } = sums;
  const qualities = snapshot.qualityStep === 0 ? { quality } : { quality, exactQuality };
  return {
    serves: served.map((tasks) => (tasks === traffic.length ? 1 : 0)),
    candidates: { n, ...qualities, ...figures, ...mean },
  };
}

/**
 * Ranks the models that can serve the typical request.
 * @param isAllowed whether the selector may choose a model
 * @returns indexes of models from best to worst; none if the strategy gives no usable score
 */
export function rankTypical(
  strategy: PreparedStrategy,
  { serves, candidates: all }: TypicalRequest,
  isAllowed: (index: number) => boolean,
): number[] {
  const indexes = Array.from(serves.keys()).filter((index) => serves[index] === 1 && isAllowed(index));
  const only = (figures: Float64Array) => Float64Array.from(indexes, (index) => figures[index]!);
  const candidates: Candidates = {
    ...all,
    n: indexes.length,
    quality: only(all.quality),
    ...(all.exactQuality && { exactQuality: only(all.exactQuality) }),
    cost: only(all.cost),
    latency: only(all.latency),
  };
  const utility = new Float64Array(indexes.length).fill(Number.NaN);
  try {
    strategy.score(candidates, utility);
  } catch {
    return [];
  }
  const { qualityFloor } = strategy;
  if (qualityFloor !== undefined) holdToFloor(candidates, utility, qualityFloor);
  const order: number[] = [];
  const { faulty } = selectTop(candidates, utility, indexes.length, order, strategy.tieBreak);
  return faulty ? [] : order.map((at) => indexes[at]!);
}

function typicalFacts(
  { task, inputTokens, outputTokens }: TaskTraffic,
  difficulty: Difficulty,
  snapshot: PolicySnapshot,
): Facts {
  const { constraints, preferences, tasks, qualityStep } = snapshot;
  const preferred = preferences.flatMap(({ when }, at) => (when === null ? [at] : []));
  // A ceiling applies to each request by its own estimates, so it does not exclude a model from the tiers.
  const constrained = constraints.flatMap(({ when, maxLatencyMs, maxCostCredits }, at) =>
    when === null && (maxLatencyMs ?? maxCostCredits) === null ? [at] : [],
  );
  const facts: Facts = {
    operation: 'chat',
    // No selector has this name, so all models count.
    model: '',
    alias: null,
    named: null,
    task: tasks[task]!.name,
    mix: [],
    difficulty: 'usual',
    naturalLanguage: 'und',
    languagesSeen: [],
    inputTokens,
    inputTokensMax: inputTokens,
    inputTokensCounted: null,
    images: 0,
    audioBytes: 0,
    pdfs: 0,
    pages: 0,
    unboundedMedia: 0,
    outputTokens,
    outputTokensAsked: null,
    outputTokensMax: null,
    choices: 1,
    needs: 0,
    cached: [],
    languages: [],
    weights: null,
    ceilings: { costCredits: null, latencyMs: null },
    budget: null,
    funds: null,
    rules: { constraints: constrained, preferences: preferred },
    allowedModels: null,
    ...(qualityStep > 0 && { qualityStep }),
  };
  return withDifficulty(facts, difficulty, snapshot);
}
