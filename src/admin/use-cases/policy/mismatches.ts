import type { Decision } from '../../../core/decision/decision.ts';
import type { VerdictAction } from '../../../core/decision/verdict.ts';
import { SignalboxError } from '../../../core/errors.ts';
import type { PolicyCase } from '../../../core/policy/case.ts';
import type { GuardSide } from '../../../core/policy/guard-texts.ts';
import type { EscalationSignal } from '../../../core/request/escalation.ts';
import { decimalText } from '../../../core/text/text.ts';
import type { CaseFailure } from '../../../policy/cases/failures.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import { runtimeFor } from '../../../policy/runtime/wildcard-runtime.ts';
import { isRefusal } from '../../../routing/decide.ts';
import type { ModelLists } from '../../../routing/model-name.ts';
import { refusalError } from '../../../routing/refuse.ts';
import { firstEndpoints } from '../../../routing/spread-estimate.ts';
import {
  type CaseOutcome,
  type GuardedCase,
  isCachedCase,
  isDecision,
  listsOf,
  reasonsAgainst,
  verdictsOn,
} from './reasons.ts';
import { whyNotChosen, whyNotRejectedBy, whyRejected } from './why.ts';

/** A key of a case's `expect` that does not hold. */
export interface Mismatch extends CaseFailure {
  /** The key in the form of the policy: `model`, `rejected.sim-small`. */
  readonly key: string;
  /** The expected and the actual value, such as `sim-coder` and `sim-large`, or `below 1 Credits` and `2.4 Credits`. */
  readonly wanted: string;
  readonly got: string;
}

/** A case with its outcome. */
interface JudgedCase {
  readonly policyCase: PolicyCase;
  readonly found: GuardedCase;
  readonly outcome: CaseOutcome;
}

/**
 * Returns the keys of `expect` that do not hold.
 * @param runtime for the request, from `runtimeFor`
 * @param whole the runtime of the whole policy
 */
export function mismatches(
  { policyCase, found: guarded, outcome }: JudgedCase,
  runtime: Runtime,
  whole: Runtime,
): Mismatch[] {
  const { expect } = policyCase;
  const refusal = refusalIn(outcome, runtime);
  const context: CaseContext = { runtime, caller: listsOf(policyCase, runtime), escalated: policyCase.given.escalated };
  const found = [
    ...taskMismatch(policyCase, outcome),
    ...(expect.blocked !== null
      ? []
      : expect.refused === null
        ? choiceMismatches(expect, outcome, refusal, context)
        : refusalMismatch(expect.refused, outcome, refusal, context)),
    ...rejectedMismatches(expect, outcome, whole),
    ...guardMismatches({ policyCase, found: guarded, outcome }, refusal, runtime),
    ...cacheMismatch(policyCase, guarded, refusal, runtime),
  ];
  return found.map(({ hint, expected, ...text }) => ({
    case: policyCase,
    ...text,
    expected: expected ?? `\`${text.wanted}\``,
    ...(hint !== undefined && { hint }),
  }));
}

/** Returns the error that the caller would get; null if a model was chosen. */
function refusalIn(outcome: CaseOutcome, { snapshot }: Runtime): SignalboxError | null {
  if (outcome instanceof SignalboxError) return outcome;
  return isRefusal(outcome) ? refusalError(outcome, snapshot) : null;
}

/** The texts of a mismatch: `wanted` and `got` for a diff, and the message of the diagnostic. */
interface MismatchText {
  readonly key: string;
  readonly wanted: string;
  readonly got: string;
  readonly message: string;
  readonly expected?: string;
  readonly hint?: string | undefined;
}

function taskMismatch({ expect: { task }, given }: PolicyCase, outcome: CaseOutcome): MismatchText[] {
  if (task === null) return [];
  if (outcome instanceof SignalboxError) return [refusedBefore('task', task, outcome)];
  const { task: got } = outcome.facts;
  if (got === task) return [];
  const hint =
    given.query.task_type === undefined ? 'state `task_type` if the task is not clear from the text' : undefined;
  return [{ key: 'task', wanted: task, got, message: `the task is recognized as \`${got}\``, hint }];
}

/** A request may be refused before any model is considered, so that there is nothing to compare. */
const refusedBefore = (key: string, wanted: string, { code, message: hint }: SignalboxError): MismatchText => ({
  key,
  wanted,
  got: refusedText(code),
  message: `refused with \`${code}\` before \`${key}\` was evaluated`,
  hint,
});

const refusedText = (code: string): string => `refused: ${code}`;

/** The part of a mismatch that comes from the outcome. */
type Miss = Omit<MismatchText, 'key' | 'wanted'>;

/** Compares a key of `expect` that only a decision can satisfy. Returns null if the key holds. */
type MissOf<Wanted> = (wanted: Wanted, decision: Decision, context: CaseContext) => Miss | null;

interface CaseContext {
  /** For the request of the case. */
  readonly runtime: Runtime;
  /** The lists of models of the sender. */
  readonly caller: ModelLists;
  /** The signal of failure that the case states. */
  readonly escalated: EscalationSignal | undefined;
}

function choiceMismatches(
  expect: PolicyCase['expect'],
  outcome: CaseOutcome,
  refusal: SignalboxError | null,
  context: CaseContext,
): MismatchText[] {
  const whyRefused = () => refusalText(refusal!, outcome, expect.models ?? [], context);
  const check = <Wanted>(
    key: string,
    value: Wanted | null,
    textOf: (value: Wanted) => string,
    missOf: MissOf<Wanted>,
  ) => {
    if (value === null) return [];
    const miss = isDecision(outcome) ? missOf(value, outcome, context) : refusedMiss(refusal!, whyRefused());
    return miss ? [{ key, wanted: textOf(value), ...miss }] : [];
  };
  const bound = (key: keyof typeof BOUNDS, value: number | null) =>
    check(key, value, (one) => boundText(key, one), boundMiss(key));
  return [
    ...check('model', expect.models, (ids) => ids.join(' or '), modelMiss),
    ...check('provider', expect.provider, String, providerMiss),
    ...check('reason', expect.reason, String, reasonMiss),
    ...check('tier', expect.tier, String, tierMiss),
    ...bound('cost_below_credits', expect.costBelowCredits),
    ...bound('latency_below_ms', expect.latencyBelowMs),
    ...bound('quality_above', expect.qualityAbove),
  ];
}

/** The message of a refusal, with what rejected each model. For the error that no model is eligible, the reasons replace the message. */
function refusalText(
  { code, message, info }: SignalboxError,
  outcome: CaseOutcome,
  first: readonly string[],
  { runtime, caller }: CaseContext,
): string {
  if (outcome instanceof SignalboxError || isDecision(outcome)) return message;
  const rejected = whyRejected({ ...outcome, caller }, first, runtime);
  if (rejected === '') return message;
  if (code !== 'no_eligible_model') return `${message} ${rejected}`;
  const relaxation = info.details?.relaxation;
  return typeof relaxation === 'string' ? `${rejected}. To make a model eligible, ${relaxation}` : rejected;
}

const refusedMiss = ({ code }: SignalboxError, hint: string): Miss => ({
  got: refusedText(code),
  message: `refused with \`${code}\``,
  expected: 'a model',
  hint,
});

const modelMiss: MissOf<readonly string[]> = (models, decision, { runtime, caller }) => {
  const got = chosenId(decision, runtime);
  if (models.includes(got)) return null;
  const expected = models.map((id) => `\`${id}\``).join(' or ');
  return { got, message: `chose \`${got}\``, expected, hint: whyNotChosen(models, { ...decision, caller }, runtime) };
};

const chosenId = ({ ranked: [choice] }: Decision, { snapshot }: Runtime): string => snapshot.models[choice.model]!.id;

const providerMiss: MissOf<string> = (provider, { ranked: [choice] }, { runtime: { snapshot } }) => {
  const model = snapshot.models[choice.model]!;
  const { id } = model;
  const all = model.endpoints.map((one) => one.provider);
  const providersOf = (endpoints: readonly number[]) => [...new Set(endpoints.map((at) => all[at]!))];
  const first = providersOf(firstEndpoints(model, choice.endpoints));
  if (first.includes(provider)) return null;
  const hint = all.includes(provider)
    ? `the endpoints of \`${id}\` are ${all.join(', ')}; this request may use ${providersOf(choice.endpoints).join(', ')}`
    : `\`${id}\` has no endpoint of \`${provider}\``;
  const got = first.join(' or ');
  return {
    got,
    message: `${first.map((name) => `\`${name}\``).join(' or ')} would be tried first for \`${id}\``,
    hint,
  };
};

const reasonMiss: MissOf<string> = (reason, { reason: got }) =>
  got === reason ? null : { got, message: `the reason is \`${got}\`` };

const tierMiss: MissOf<string> = (wanted, { tier, facts }, { escalated, runtime }) => {
  if (tier === wanted) return null;
  const isUnlisted = escalated !== undefined && !runtime.snapshot.escalate.on.includes(escalated);
  const hard = facts.tier && `the first question is hard with a probability of ${decimalText(facts.tier.hard)}`;
  const hint = isUnlisted ? `\`escalate.on\` does not list \`${escalated}\`` : hard;
  if (tier !== null) return { got: tier, message: `the ${tier} tier decides`, hint };
  const why =
    'a stated `task_type`, weights, ceilings and named models are decided without tiers, and so are selectors with `tiers: off`';
  return { got: 'none', message: 'no tier decides', hint: why };
};

const BOUNDS = {
  cost_below_credits: { what: 'cost', side: 'below', unit: 'Credits', of: 'costCredits' },
  latency_below_ms: { what: 'latency', side: 'below', unit: 'ms', of: 'latencyMs' },
  quality_above: { what: 'quality', side: 'above', unit: '', of: 'quality' },
} as const;

const boundText = (key: keyof typeof BOUNDS, bound: number): string =>
  `${BOUNDS[key].side} ${decimalText(bound)} ${BOUNDS[key].unit}`.trim();

const boundMiss =
  (key: keyof typeof BOUNDS): MissOf<number> =>
  (bound, decision, { runtime }) => {
    const { what, side, unit, of } = BOUNDS[key];
    const [choice] = decision.ranked;
    const value = of === 'quality' && choice.share === null ? Number.NaN : choice[of];
    if (side === 'below' ? value < bound : value > bound) return null;
    const got = Number.isNaN(value) ? 'unknown' : `${decimalText(Number(value.toPrecision(6)))} ${unit}`.trim();
    const message = `the expected ${what} of \`${chosenId(decision, runtime)}\` is ${got}`;
    return { got, message, expected: boundText(key, bound) };
  };

function refusalMismatch(
  wanted: string,
  outcome: CaseOutcome,
  refusal: SignalboxError | null,
  context: CaseContext,
): MismatchText[] {
  const key = 'refused';
  if (refusal) {
    const { code } = refusal;
    if (code === wanted) return [];
    const hint = refusalText(refusal, outcome, [], context);
    return [{ key, wanted, got: code, message: `refused with \`${code}\``, hint }];
  }
  const id = isDecision(outcome) ? chosenId(outcome, context.runtime) : '';
  return [{ key, wanted, got: `chose ${id}`, message: `chose \`${id}\`` }];
}

function guardMismatches(
  { policyCase, found: guarded, outcome }: JudgedCase,
  refusal: SignalboxError | null,
  runtime: Runtime,
): MismatchText[] {
  const { blocked, masked, repaired } = policyCase.expect;
  if (blocked === null && masked.length + repaired.length === 0) return [];
  const verdicts = verdictsOn(guarded);
  const found = verdicts.map(({ guard, action }) => `${guard}: ${action}`).join(', ') || 'no matches';
  const has = (name: string, wanted: VerdictAction, on?: GuardSide) =>
    verdicts.some(({ guard, action, side }) => guard === name && action === wanted && side === (on ?? side));
  const missesOf = (key: string, names: readonly string[], action: VerdictAction, verb: string) =>
    names
      .filter((name) => !has(name, action))
      .map((name) => ({ key, wanted: name, got: found, message: `the guard \`${name}\` ${verb} nothing` }));
  const misses = [
    ...missesOf('masked', masked, 'mask', 'masks'),
    ...missesOf('repaired', repaired, 'repair', 'repairs').map((miss) => ({
      ...miss,
      ...(policyCase.given.answer === undefined && { hint: 'state the answer of the model as `given.answer`' }),
    })),
  ];
  const isRefused = refusal?.code === 'content_blocked' && refusal.info.details?.guard === blocked;
  if (blocked === null || isRefused || has(blocked, 'block', 'output')) return misses;
  const got = refusal ? refusedText(refusal.code) : isDecision(outcome) ? `chose ${chosenId(outcome, runtime)}` : found;
  const message = `the guard \`${blocked}\` does not block`;
  return [...misses, { key: 'blocked', wanted: blocked, got, message, hint: refusal?.message }];
}

function cacheMismatch(
  policyCase: PolicyCase,
  guarded: GuardedCase,
  refusal: SignalboxError | null,
  runtime: Runtime,
): MismatchText[] {
  const { cached } = policyCase.expect;
  if (cached === null) return [];
  const got = refusal === null && isCachedCase(guarded, runtime);
  if (got === cached) return [];
  const message = `the cache ${got ? 'applies' : 'does not apply'} to the request`;
  const isUnsampled = runtime.snapshot.cache !== null && !runtime.snapshot.cache.sampled;
  const hint =
    cached && isUnsampled
      ? 'with `cache.sampled: false`, a request needs `temperature: 0` or `seed`'
      : refusal?.message;
  return [{ key: 'cached', wanted: String(cached), got: String(got), message, hint }];
}

function rejectedMismatches({ rejected }: PolicyCase['expect'], outcome: CaseOutcome, whole: Runtime): MismatchText[] {
  return Object.entries(rejected).flatMap(([id, rule]) => {
    const key = `rejected.${id}`;
    if (outcome instanceof SignalboxError) return [refusedBefore(key, rule, outcome)];
    const runtime = runtimeFor(whole, id);
    const against = reasonsAgainst(id, outcome.facts, runtime);
    if (against.includes(rule)) return [];
    const got = against.length === 0 ? 'eligible' : against.join(', ');
    const message = against.length === 0 ? `\`${id}\` is eligible` : `\`${id}\` is rejected by ${got}`;
    const hint = whyNotRejectedBy(rule, id, outcome.facts, runtime);
    return [{ key, wanted: rule, got, message, expected: `\`${id}\` rejected by \`${rule}\``, hint }];
  });
}
