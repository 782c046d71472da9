import type { Decision } from '../../core/decision.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { PolicyCase } from '../../core/policy-case.ts';
import type { CaseFailure } from '../../policy/cases.ts';
import { isRefusal } from '../../routing/decide.ts';
import { refusalError } from '../../routing/refuse.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { runtimeFor } from '../../runtime/wildcard-runtime.ts';
import { type CaseOutcome, isDecision, reasonsAgainst } from './reasons.ts';
import { whyNotChosen, whyNotRejectedBy } from './why.ts';

/** A key of a case's `expect` that does not hold. */
export interface Mismatch extends CaseFailure {
  /** As the policy has it: `model`, `rejected.sim-small`. */
  readonly key: string;
  /** The values side by side: `sim-coder` and `sim-large`, `below 1 Credits` and `2.4 Credits`. */
  readonly wanted: string;
  readonly got: string;
}

/**
 * Returns the keys of `expect` that do not hold.
 * @param runtime that of the request, by `runtimeFor`
 * @param whole that of the whole policy
 */
export function mismatches(policyCase: PolicyCase, outcome: CaseOutcome, runtime: Runtime, whole: Runtime): Mismatch[] {
  const { expect } = policyCase;
  const refusal = refusalIn(outcome, runtime);
  const found = [
    ...taskMismatch(policyCase, outcome),
    ...(expect.refused === null
      ? choiceMismatches(expect, outcome, refusal, runtime)
      : refusalMismatch(expect.refused, outcome, refusal, runtime)),
    ...rejectedMismatches(expect, outcome, whole),
  ];
  return found.map(({ hint, expected, ...text }) => ({
    case: policyCase,
    ...text,
    expected: expected ?? `\`${text.wanted}\``,
    ...(hint !== undefined && { hint }),
  }));
}

/** Returns the error that the caller would get; null for a decision. */
function refusalIn(outcome: CaseOutcome, { snapshot }: Runtime): SignalboxError | null {
  if (outcome instanceof SignalboxError) return outcome;
  return isRefusal(outcome) ? refusalError(outcome, snapshot) : null;
}

/** The texts of a mismatch: `wanted` and `got` for a diff, and the diagnostic's words. */
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
  const hint = given.query.task_type === undefined ? 'state `task_type` where only you can know it' : undefined;
  return [{ key: 'task', wanted: task, got, message: `it is taken for \`${got}\``, hint }];
}

/** A request may be refused before a decision, with nothing to compare. */
const refusedBefore = (key: string, wanted: string, { code, message: hint }: SignalboxError): MismatchText => ({
  key,
  wanted,
  got: refusedText(code),
  message: `refused with \`${code}\` before \`${key}\` was evaluated`,
  hint,
});

const refusedText = (code: string): string => `refused: ${code}`;

/** A key of `expect` that only a decision can fulfil. */
interface ChoiceKey {
  readonly key: string;
  readonly wanted: string;
  /** Null where it holds. */
  miss(decision: Decision, runtime: Runtime): Omit<MismatchText, 'key' | 'wanted'> | null;
}

function choiceMismatches(
  expect: PolicyCase['expect'],
  outcome: CaseOutcome,
  refusal: SignalboxError | null,
  runtime: Runtime,
): MismatchText[] {
  return choiceKeys(expect).flatMap(({ key, wanted, miss }) => {
    if (!isDecision(outcome)) {
      const { code, message: hint } = refusal!;
      return [{ key, wanted, got: refusedText(code), message: `refused with \`${code}\``, expected: 'a model', hint }];
    }
    const missed = miss(outcome, runtime);
    return missed ? [{ key, wanted, ...missed }] : [];
  });
}

function choiceKeys(expect: PolicyCase['expect']): ChoiceKey[] {
  const { models, provider, reason, costBelowCredits, latencyBelowMs, qualityAbove } = expect;
  return [
    ...(models === null ? [] : [modelKey(models)]),
    ...(provider === null ? [] : [providerKey(provider)]),
    ...(reason === null ? [] : [reasonKey(reason)]),
    ...(costBelowCredits === null ? [] : [boundKey('cost_below_credits', costBelowCredits)]),
    ...(latencyBelowMs === null ? [] : [boundKey('latency_below_ms', latencyBelowMs)]),
    ...(qualityAbove === null ? [] : [boundKey('quality_above', qualityAbove)]),
  ];
}

function modelKey(models: readonly string[]): ChoiceKey {
  return {
    key: 'model',
    wanted: models.join(' or '),
    miss(decision, runtime) {
      const got = chosenId(decision, runtime);
      if (models.includes(got)) return null;
      return {
        got,
        message: `chose \`${got}\``,
        expected: models.map((id) => `\`${id}\``).join(' or '),
        hint: whyNotChosen(models, decision, runtime),
      };
    },
  };
}

const chosenId = ({ ranked: [choice] }: Decision, { snapshot }: Runtime): string => snapshot.models[choice.model]!.id;

function providerKey(provider: string): ChoiceKey {
  return {
    key: 'provider',
    wanted: provider,
    miss({ ranked: [choice] }, { snapshot }) {
      const { id, endpoints } = snapshot.models[choice.model]!;
      const [first] = choice.endpoints;
      const got = endpoints[first!]!.provider;
      if (got === provider) return null;
      const all = endpoints.map((one) => one.provider);
      const open = choice.endpoints.map((at) => all[at]);
      const hint = !all.includes(provider)
        ? `\`${id}\` has no endpoint of \`${provider}\``
        : `the endpoints of \`${id}\` are ${all.join(', ')}; this request may use ${open.join(', ')}`;
      return { got, message: `\`${got}\` would be tried first for \`${id}\``, hint };
    },
  };
}

function reasonKey(reason: string): ChoiceKey {
  return {
    key: 'reason',
    wanted: reason,
    miss: ({ reason: got }) => (got === reason ? null : { got, message: `the reason is \`${got}\`` }),
  };
}

const BOUNDS = {
  cost_below_credits: { what: 'cost', side: 'below', unit: 'Credits', of: 'costCredits' },
  latency_below_ms: { what: 'latency', side: 'below', unit: 'ms', of: 'latencyMs' },
  quality_above: { what: 'quality', side: 'above', unit: '', of: 'quality' },
} as const;

function boundKey(key: keyof typeof BOUNDS, bound: number): ChoiceKey {
  const { what, side, unit, of } = BOUNDS[key];
  const wanted = `${side} ${bound} ${unit}`.trim();
  return {
    key,
    wanted,
    miss(decision, runtime) {
      const [choice] = decision.ranked;
      const value = of === 'quality' && choice.share === null ? Number.NaN : choice[of];
      if (side === 'below' ? value < bound : value > bound) return null;
      const got = Number.isNaN(value) ? 'unknown' : `${Number(value.toPrecision(6))} ${unit}`.trim();
      const message = `the expected ${what} of \`${chosenId(decision, runtime)}\` is ${got}`;
      return { got, message, expected: wanted };
    },
  };
}

function refusalMismatch(
  wanted: string,
  outcome: CaseOutcome,
  refusal: SignalboxError | null,
  runtime: Runtime,
): MismatchText[] {
  const key = 'refused';
  if (refusal) {
    const { code, message: hint } = refusal;
    return code === wanted ? [] : [{ key, wanted, got: code, message: `refused with \`${code}\``, hint }];
  }
  const id = isDecision(outcome) ? chosenId(outcome, runtime) : '';
  return [{ key, wanted, got: `chose ${id}`, message: `chose \`${id}\`` }];
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
