import type { Candidates } from '../contract/strategy.ts';
import { priorReadings, type Readings } from '../core/decision/readings.ts';
import { type Operation, operationsIn, servesChats, TEXT_OPERATIONS } from '../core/kinds/operations.ts';
import type { Model, PolicySnapshot, TaskTraffic } from '../core/policy/snapshot.ts';
import type { Facts } from '../core/request/facts.ts';
import { costReference, expectedCost, expectedLatency, expectedWriting } from './estimate.ts';
import { allowedEndpoints, limitsOf } from './rules.ts';

/** The policy before its ladders are made. */
export type TypicalPolicy = Omit<PolicySnapshot, 'revision'>;

/** The mean estimates of the typical requests, by index of the model in the snapshot. */
export type TypicalFigures = Pick<Candidates, 'cost' | 'latency' | 'reference'>;

/** The typical request of separate texts: one text of this length. The answers of all models have the same length. */
const TEXT_TOKENS = 500;

/**
 * Returns the expected cost and latency of each model for the typical requests of a policy: means over the tasks of its traffic, weighted by
 * their shares. They are the figures of the policy for the first endpoint that the rules without a condition allow. A model that
 * answers no conversations has the figures of a typical text. Yields between tasks.
 */
export function* typicalFigures(policy: TypicalPolicy): Generator<undefined, TypicalFigures> {
  const snapshot: PolicySnapshot = { revision: '', ...policy };
  const n = snapshot.models.length;
  const readings = priorReadings(snapshot);
  const cost = new Float64Array(n);
  const latency = new Float64Array(n);
  let reference = 0;
  for (const one of snapshot.traffic) {
    const facts = typicalFacts(one, snapshot);
    add(facts, one.share, { snapshot, readings, isCounted: servesChats }, cost, latency);
    reference += one.share * costReference(snapshot, facts, readings);
    yield;
  }
  for (const operation of TEXT_OPERATIONS) {
    const isCounted = ({ operations }: Model) => operationsIn(operations)[0] === operation;
    add(textFacts(operation, snapshot), 1, { snapshot, readings, isCounted }, cost, latency);
  }
  return { cost, latency, reference };
}

interface TypicalScope {
  readonly snapshot: PolicySnapshot;
  readonly readings: Readings;
  readonly isCounted: (model: Model) => boolean;
}

/** Adds the estimates for a request to the sums. */
function add(
  facts: Facts,
  share: number,
  { snapshot, readings, isCounted }: TypicalScope,
  cost: Float64Array,
  latency: Float64Array,
): void {
  const { slots } = limitsOf(facts, snapshot);
  const writing = expectedWriting(facts, snapshot, readings);
  for (const [index, model] of snapshot.models.entries()) {
    if (!isCounted(model)) continue;
    const endpoint = allowedEndpoints(model, slots, 0)[0] ?? 0;
    cost[index]! += share * expectedCost(model, endpoint, facts, writing);
    latency[index]! += share * expectedLatency(model, endpoint, facts, readings, writing);
  }
}

function textFacts(operation: Operation, snapshot: PolicySnapshot): Facts {
  const traffic = { task: 0, share: 1, inputTokens: TEXT_TOKENS, outputTokens: 0 };
  const facts = typicalFacts(traffic, snapshot);
  const texts = { inputs: 1, longest: TEXT_TOKENS, dimensions: null };
  return { ...facts, operation, outputTokensMax: 0, texts };
}

function typicalFacts({ task, inputTokens, outputTokens }: TaskTraffic, { constraints, tasks }: PolicySnapshot): Facts {
  // A ceiling applies to each request by its own estimates.
  const constrained = constraints.flatMap(({ when, maxLatencyMs, maxCostCredits }, at) =>
    when === null && (maxLatencyMs ?? maxCostCredits) === null ? [at] : [],
  );
  return {
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
    rules: { constraints: constrained, preferences: [] },
    allowedModels: null,
  };
}
