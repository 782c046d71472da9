import { serialize } from '@marcbachmann/cel-js';
import { servesChats } from '../../core/kinds/operations.ts';
import type { ExhaustedAction } from '../../core/money/budget.ts';
import { type Constraint, hasBit } from '../../core/policy/rules.ts';
import type { Model } from '../../core/policy/snapshot.ts';
import { decimalText } from '../../core/text/text.ts';
import { type ASTNode, accessesOf } from '../cel/ast.ts';
import type { Program } from '../cel/check.ts';
import { operandsOf } from '../cel/contradictions.ts';
import { EMPTY_KEY, tryRun } from '../cel/trials.ts';
import { budgetViewOf, environmentOf } from '../cel/types.ts';
import type { ModelDraft } from '../models/models.ts';
import type { Report } from '../report/report.ts';
import type { BudgetDraft } from '../sections/budgets.ts';
import type { CheckedLimit } from '../sections/limits.ts';
import { rounded } from '../yaml/slip-hints.ts';

const MICRO = 1_000_000;

/** The outcome of requests under a small budget. */
const CONSEQUENCES: Readonly<Record<ExhaustedAction, string>> = {
  cap: 'long answers are cut short',
  reject: 'requests that could cost more are refused',
  downgrade: 'long answers are cut short, because no model fits',
};

/** The models and selectors that the callers of a budget may use. */
interface UsableModels {
  /** The models that can be served in this environment. */
  readonly served: readonly Model[];
  readonly constraints: readonly (Pick<Constraint, 'allows'> & { readonly when: Program | null })[];
  /** Maps each selector to the bits of the models that it chooses from; null for all models. */
  readonly selectors: ReadonlyMap<string, Uint32Array | null>;
}

/**
 * Warns about budgets that are smaller than the cost of one long answer of the cheapest model that they apply to. Budgets that are so small
 * probably state USD instead of Credits.
 */
export function reviewSmallBudgets(
  models: readonly ModelDraft[],
  usdPerCredit: number,
  budgets: readonly CheckedLimit<BudgetDraft>[],
  usable: UsableModels,
  report: Report,
): void {
  const answers = models.map((draft) => ({ id: draft.model.id, usd: longestUsd(draft) })).sort((a, b) => a.usd - b.usd);
  for (const { draft, match } of budgets) {
    const { name, limit, unit, limitPlace, onExhausted } = draft;
    const covered = modelsOf(match, usable);
    const cheapest = answers.find(({ id }) => covered.has(id));
    if (!cheapest) continue;
    const credits = limit / MICRO;
    const usd = rounded(credits * usdPerCredit);
    if (credits === 0 || usd >= cheapest.usd) continue;
    const message = `budget \`${name}\` is worth less than one long answer of the cheapest model${match ? ' that it applies to' : ''}: ${credits} Credits are ${usdText(usd)} USD, but the longest answer of \`${cheapest.id}\` costs ${usdText(cheapest.usd)} USD`;
    report.add('small-budget', limitPlace, message, {
      hint: `${unit === 'USD' ? '' : `if you mean ${credits} USD, write \`limit_usd: ${credits}\`; `}with ${credits} Credits, ${CONSEQUENCES[onExhausted]}`,
    });
  }
}

/**
 * Returns the IDs of the models that chats of a budget may use, based on the names that callers send and on the constraints that apply to
 * all of these chats.
 */
function modelsOf(match: Program | null, { served, constraints, selectors }: UsableModels): ReadonlySet<string> {
  const parts = match ? operandsOf(match.ast) : [];
  const covers = nameTest(parts);
  const stated = new Set(parts.map((part) => serialize(part)));
  const applying = constraints.filter(
    ({ when }) => when === null || operandsOf(when.ast).every((part) => stated.has(serialize(part))),
  );
  const chosen = [...selectors].filter(([name]) => covers(name)).map(([, bits]) => bits);
  const usable = served.filter((model, index) => {
    const isNamed = covers(model.id) || chosen.some((bits) => bits === null || hasBit(bits, index));
    return isNamed && servesChats(model) && applying.every((one) => isAllowed(model, one));
  });
  return new Set(usable.map(({ id }) => id));
}

/**
 * Returns a test for the names that callers send. Parts of the condition that read anything else may be true for some caller, so the test
 * ignores them.
 */
function nameTest(parts: readonly ASTNode[]): (name: string) => boolean {
  const ofNames = parts.filter((part) => {
    const accesses = [...accessesOf(part)];
    return accesses.length > 0 && accesses.every(({ path }) => path.join('.') === 'request.model');
  });
  const programs = ofNames.map((part) => ({ run: environmentOf('budget').parse(serialize(part)) }));
  return (name) => {
    const view = budgetViewOf({ ...EMPTY_KEY, request: { model: name } });
    return programs.every((program) => tryRun(program, view).value !== false);
  };
}

const isAllowed = ({ endpoints, firstSlot }: Model, { allows }: Pick<Constraint, 'allows'>): boolean =>
  allows === null || endpoints.some((_, at) => hasBit(allows, firstSlot + at));

/** Returns the cost in USD of a model's longest answer, at its cheapest endpoint. */
const longestUsd = ({ model, endpoints }: ModelDraft): number =>
  (Math.min(...endpoints.map(({ usd }) => usd.output)) * model.maxOutput) / 1_000_000;

/** Writes USD with at least two decimals and two significant digits. */
const usdText = (usd: number): string => (usd >= 0.1 ? usd.toFixed(2) : decimalText(Number(usd.toPrecision(2))));
