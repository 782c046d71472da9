import { capabilityNames } from '../core/capability.ts';
import { isAbove, shownCredits, shownMs } from '../core/ceiling.ts';
import { REJECTIONS, type Refusal, type Rejection } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import { type LanguageState, languageState, qualifiesFor } from '../core/language-support.ts';
import { isKnownLanguage, nearestLanguage } from '../core/languages.ts';
import { HEALTH, type HealthState, type Readings } from '../core/readings.ts';
import { type Constraint, hasBit } from '../core/rules.ts';
import type { Model, PolicySnapshot } from '../core/snapshot.ts';
import type { RejectionEntry } from './certificate.ts';
import {
  affordableCap,
  endpointsWithin,
  expectedCost,
  expectedLatency,
  expectedWriting,
  outputCap,
} from './estimate.ts';
import { allowedEndpoints, limitsOf, openEndpoints } from './rules.ts';

/** What was asked, and what was known of the upstreams then. */
export interface DecisionInputs extends Pick<Refusal, 'facts' | 'readings'> {
  /** Whether endpoints that a breaker has ejected were judged like others. Left out: they were, as with every refusal. */
  readonly lastResort?: boolean;
}

/** What the bits of a rejection mean for a model, in words, with the rules behind each. */
export function rejectionsAgainst(
  model: Model,
  rejections: number,
  asked: DecisionInputs,
  snapshot: PolicySnapshot,
): RejectionEntry[] {
  const constraints = isSet(rejections, 'constraint') ? constraintsAgainst(model, rejections, asked, snapshot) : [];
  const texts = textsFor(model, rejections, constraints, asked, snapshot);
  const rules = constraints.map(({ name, place }) => ({ name, place }));
  const kinds = (Object.keys(texts) as Rejection[]).filter((kind) => isSet(rejections, kind));
  return kinds.map((kind) => ({ kind, text: texts[kind](), rules: kind === 'constraint' ? rules : [] }));
}

function textsFor(
  model: Model,
  rejections: number,
  constraints: readonly Constraint[],
  asked: DecisionInputs,
  snapshot: PolicySnapshot,
): Record<Rejection, () => string> {
  const { facts } = asked;
  return {
    selector: () => `the selector \`${facts.model}\` does not choose from it`,
    constraint: () => `the policy rejects it: ${constraints.map(({ name }) => name).join(', ')}`,
    key_models: () => 'the API key may not use it',
    capability: () => lacking(model, facts.needs),
    language: () => languagesAgainst(model, facts.languages, snapshot).join(', and '),
    max_output: () => `${outputField(facts)} is above its maximum of ${model.maxOutput}`,
    max_cost: () =>
      `its expected cost of ${shownCredits(costOn(model, rejections, asked, snapshot))} Credits is above max_cost_credits`,
    max_latency: () =>
      `its expected latency of ${shownMs(latencyOn(model, rejections, asked, snapshot))} ms is above max_latency_ms`,
    unbounded_media: () =>
      'nothing bounds the tokens of images, audio or files on it, so no budget or budget_limit can be kept',
    context: () => `the prompt and a useful output exceed its window of ${model.contextWindow} tokens`,
    budget_limit: () => 'its worst case exceeds budget_limit',
    funds: () => 'its worst case exceeds what budgets leave',
    health: () => `it is out for now: ${outBecause(model, asked, snapshot)}`,
  };
}

/** The languages that a model does not qualify for. */
export function languagesMissing(model: Model, languages: readonly string[], snapshot: PolicySnapshot): string[] {
  const index = snapshot.modelIndex.get(model.id)!;
  return languages.filter((name) => !qualifiesFor(name, index, snapshot.languages));
}

/** Why a model does not qualify for the languages that are required: it lacks them, nobody says, or they are none. */
function languagesAgainst(model: Model, languages: readonly string[], snapshot: PolicySnapshot): string[] {
  const missing = languagesMissing(model, languages, snapshot);
  const isNone = (name: string) => !snapshot.languages.byName.has(name) && !isKnownLanguage(name);
  const ofState = (state: LanguageState) =>
    missing.filter((name) => !isNone(name) && languageState(model, name) === state).join(', ');
  const [lacked, unknown] = [ofState('lacked'), ofState('unknown')];
  return [
    ...(lacked ? [`it does not handle ${lacked}`] : []),
    ...(unknown ? [`it does not declare ${unknown}`] : []),
    ...missing.filter(isNone).slice(0, NAMES_MAX).map(noLanguage),
  ];
}

/** Names that are no languages: so many are told of. */
const NAMES_MAX = 3;

/** Names in errors are cut here. */
const NAME_MAX = 64;

function noLanguage(name: string): string {
  const meant = nearestLanguage(name);
  const shown = `\`${name.slice(0, NAME_MAX)}\` is no programming language`;
  return meant === null
    ? `${shown} of GitHub’s list, nor does a model declare it`
    : `${shown} (did you mean \`${meant}\`?)`;
}

function lacking({ capabilities }: Model, needs: number): string {
  const missing = capabilityNames(needs & ~capabilities);
  if (missing.length > 0) return `it lacks ${missing.join(', ')}`;
  return `no endpoint of it has all of ${capabilityNames(needs).join(', ')}`;
}

const OUT: Readonly<Record<HealthState, string | null>> = {
  healthy: null,
  ejected: 'too many faults',
  cooling: 'its provider asked for a pause',
  misconfigured: 'its provider cannot be used',
};

/** What shuts the endpoints that constraints leave of a model, each reason once. */
function outBecause(model: Model, { facts, readings }: DecisionInputs, snapshot: PolicySnapshot): string {
  const allowed = allowedEndpoints(model, limitsOf(facts, snapshot).slots, facts.needs);
  const why = allowed.map((at) => OUT[healthOf(readings, model.firstSlot + at)]);
  return [...new Set(why)].filter((one) => one !== null).join(', ');
}

export function isSet(rejections: number, kind: Rejection): boolean {
  return (rejections & REJECTIONS[kind].bit) !== 0;
}

/** The active constraints that a model does not meet. */
export function constraintsAgainst(
  model: Model,
  rejections: number,
  asked: DecisionInputs,
  snapshot: PolicySnapshot,
): Constraint[] {
  const forbids = ({ allows, maxCostCredits, maxLatencyMs }: Constraint): boolean => {
    if (allows !== null && !model.endpoints.some((_, at) => hasBit(allows, model.firstSlot + at))) return true;
    if (isAbove(latencyOn(model, rejections, asked, snapshot), maxLatencyMs)) return true;
    return isAbove(costOn(model, rejections, asked, snapshot), maxCostCredits);
  };
  const active = asked.facts.rules.constraints.map((at) => snapshot.constraints[at]!);
  const found = active.filter(forbids);
  // Each can be met by some endpoint, and no endpoint meets them all.
  return found.length > 0 ? found : active.filter(({ allows }) => allows !== null);
}

/** The field that states how much output is wanted. */
export const outputField = (facts: Facts) =>
  facts.outputTokensMax === null ? 'estimated_output_tokens' : 'max_tokens';

/** Expected Credits at the endpoint that the shortlist judged a model by, to these rejections; 0 for none. */
export function costOn(model: Model, rejections: number, asked: DecisionInputs, snapshot: PolicySnapshot): number {
  const { facts, readings } = asked;
  const first = firstJudged(model, rejections, asked, snapshot);
  return expectedCost(model, first, facts, expectedWriting(facts, snapshot, readings));
}

/** Expected milliseconds there. */
export function latencyOn(model: Model, rejections: number, asked: DecisionInputs, snapshot: PolicySnapshot): number {
  const { facts, readings } = asked;
  const first = firstJudged(model, rejections, asked, snapshot);
  return expectedLatency(model, first, facts, readings, expectedWriting(facts, snapshot, readings));
}

/**
 * The first of the endpoints that constraints leave, that are open and within the funds. A model whose endpoints are all
 * shut, or all beyond the funds, was judged with those.
 */
function firstJudged(model: Model, rejections: number, asked: DecisionInputs, snapshot: PolicySnapshot): number {
  const { facts, readings, lastResort = true } = asked;
  const allowed = allowedEndpoints(model, limitsOf(facts, snapshot).slots, facts.needs);
  const open = isSet(rejections, 'health') ? [] : openEndpoints(model, allowed, readings, lastResort);
  const judged = open.length > 0 ? open : allowed;
  const free = isSet(rejections, 'funds') ? null : (facts.funds?.free ?? null);
  if (free === null || judged.length < 2) return judged[0] ?? 0;
  const cap = affordableCap(model, judged, facts, outputCap(model, facts));
  return endpointsWithin(free, model, judged, facts, cap)[0] ?? judged[0]!;
}

/** What was known of an endpoint, by its slot. */
export function healthOf({ health }: Readings, slot: number): HealthState {
  const states = Object.keys(HEALTH) as HealthState[];
  return states.find((state) => HEALTH[state] === health[slot]) ?? 'healthy';
}
