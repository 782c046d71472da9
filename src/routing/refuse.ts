import { capabilityNames } from '../core/capability.ts';
import { toCredits } from '../core/credits.ts';
import { REJECTIONS, type Refusal, type Rejection } from '../core/decision.ts';
import { SignalboxError } from '../core/errors.ts';
import type { Facts } from '../core/facts.ts';
import type { Model, PolicySnapshot, Task } from '../core/snapshot.ts';
import { expectedCost, expectedInput, expectedLatency, expectedOutput, usefulOutput, worstCase } from './estimate.ts';

/** Turns a refusal into the error that the caller gets, with every model's reasons and what would help. */
export function refusalError(refusal: Refusal, snapshot: PolicySnapshot): SignalboxError {
  const { facts } = refusal;
  const task = snapshot.tasks[snapshot.taskIndex.get(facts.task) ?? 0]!;
  if (refusal.group === 'budget') return budgetError(refusal, snapshot, task);
  if (refusal.group === 'context') return contextError(refusal, snapshot);
  const choicesAtFault = facts.choices > 1 && onlyLacksChoices(refusal, snapshot);
  if (choicesAtFault) {
    return new SignalboxError('unsupported_parameter', 'No eligible model gives more than one choice; send n: 1.', {
      param: 'n',
    });
  }
  const rejected = refusal.rejected.map(({ model, rejections }) => ({
    model: snapshot.models[model]!.id,
    reasons: reasonsAgainst(snapshot.models[model]!, rejections, facts, task),
  }));
  const relaxation = nearestRelaxation(refusal, snapshot, task);
  const nobody = facts.pinned ? `\`${facts.model}\` does not meet the request` : 'No model meets the request';
  return new SignalboxError('no_eligible_model', relaxation ? `${nobody}; ${relaxation}.` : `${nobody}.`, {
    details: { rejected, ...(relaxation && { relaxation }) },
  });
}

function onlyLacksChoices({ rejected, facts }: Refusal, { models }: PolicySnapshot): boolean {
  return rejected.some(({ model, rejections }) => {
    const missing = capabilityNames(facts.needs & ~models[model]!.capabilities);
    return rejections === REJECTIONS.capability.bit && missing.length === 1 && missing[0] === 'choices';
  });
}

/** The models that would be eligible but for the rejections of these kinds. */
function heldBackBy({ rejected }: Refusal, snapshot: PolicySnapshot, ...kinds: readonly Rejection[]): Model[] {
  const bits = kinds.reduce((all, kind) => all | REJECTIONS[kind].bit, 0);
  return rejected.filter((one) => (one.rejections & ~bits) === 0).map((one) => snapshot.models[one.model]!);
}

function budgetError(refusal: Refusal, snapshot: PolicySnapshot, task: Task): SignalboxError {
  const { facts } = refusal;
  const least = heldBackBy(refusal, snapshot, 'budget_limit').map((model) =>
    Math.max(...model.endpoints.map(({ price }) => worstCase(price, model, facts, usefulOutput(model, facts, task)))),
  );
  const needed = toCredits(Math.min(...least));
  return new SignalboxError(
    'budget_limit_too_low',
    `budget_limit must be at least ${needed} Credits for this request: the bound of its prompt and a useful minimum of output.`,
    { param: 'budget_limit', details: { least_credits: needed } },
  );
}

function contextError(refusal: Refusal, snapshot: PolicySnapshot): SignalboxError {
  const models = heldBackBy(refusal, snapshot, 'context', 'budget_limit');
  const window = Math.max(...models.map((model) => model.contextWindow));
  const tokens = Math.min(...models.map((model) => expectedInput(refusal.facts, model)));
  return new SignalboxError(
    'context_length_exceeded',
    `The prompt has about ${tokens} tokens; the largest eligible context window has ${window}, output included.`,
    { param: 'messages', details: { estimated_input_tokens: tokens, context_window: window } },
  );
}

function reasonsAgainst(model: Model, rejections: number, facts: Facts, task: Task): string[] {
  const output = expectedOutput(facts, task);
  const texts: Record<Rejection, () => string> = {
    key_models: () => 'the API key may not use it',
    capability: () => `it lacks ${capabilityNames(facts.needs & ~model.capabilities).join(', ')}`,
    language: () => `it does not declare ${facts.languages.filter((name) => !model.languages.has(name)).join(', ')}`,
    max_output: () => `max_tokens is above its maximum of ${model.maxOutput}`,
    max_cost: () => `its expected cost of ${cost(model, facts, output)} Credits is above max_cost_credits`,
    max_latency: () =>
      `its expected latency of ${Math.round(expectedLatency(model, output))} ms is above max_latency_ms`,
    unbounded_media: () => 'nothing bounds the tokens of its images or files, so budget_limit cannot be promised',
    context: () => `the prompt and a useful output exceed its window of ${model.contextWindow} tokens`,
    budget_limit: () => 'its worst case exceeds budget_limit',
  };
  return Object.entries(texts).flatMap(([kind, text]) => (isSet(rejections, kind) ? [text()] : []));
}

function isSet(rejections: number, kind: string): boolean {
  return (rejections & (REJECTIONS[kind as Rejection]?.bit ?? 0)) !== 0;
}

/** Expected Credits, rounded up so that a ceiling of the printed figure admits the model. */
function cost(model: Model, facts: Facts, output: number): number {
  return Math.ceil(expectedCost(model, model.endpoints[0].price, facts, output) * 1e6) / 1e6;
}

/** The smallest single ceiling to raise, in proportion, and the model that it would admit. */
function nearestRelaxation(refusal: Refusal, snapshot: PolicySnapshot, task: Task): string | null {
  const { facts } = refusal;
  const output = expectedOutput(facts, task);
  const options: { factor: number; text: string }[] = [];
  const offer = (name: string, from: number, to: number, model: Model) =>
    options.push({ factor: to / from, text: `${name} ${from} → ${to} admits \`${model.id}\`` });
  const { costCredits, latencyMs } = facts.ceilings;
  if (costCredits !== null) {
    for (const model of heldBackBy(refusal, snapshot, 'max_cost'))
      offer('max_cost_credits', costCredits, cost(model, facts, output), model);
  }
  if (latencyMs !== null) {
    for (const model of heldBackBy(refusal, snapshot, 'max_latency')) {
      offer('max_latency_ms', latencyMs, Math.ceil(expectedLatency(model, output)), model);
    }
  }
  if (facts.outputTokensMax !== null) {
    for (const model of heldBackBy(refusal, snapshot, 'max_output'))
      offer('max_tokens', facts.outputTokensMax, model.maxOutput, model);
  }
  const weight = ({ factor }: { factor: number }) => Math.abs(Math.log(factor));
  return options.sort((a, b) => weight(a) - weight(b))[0]?.text ?? null;
}
