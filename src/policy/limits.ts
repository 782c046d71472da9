import { serialize } from '@marcbachmann/cel-js';
import type { Budget, BudgetScope } from '../core/budget.ts';
import type { RateLimit } from '../core/rate-limit.ts';
import type { BudgetDraft } from './budget-drafts.ts';
import { type ASTNode, accessesOf, nodesOf, pathOf } from './cel-ast.ts';
import type { Program, TextProgram } from './cel-check.ts';
import { partsOf } from './cel-contradictions.ts';
import { budgetViewOf, environmentOf, limitViewOf } from './cel-types.ts';
import { EMPTY_KEY, type ExpressionChecker, tryRun } from './expressions.ts';
import type { RateLimitDraft } from './limit-drafts.ts';
import type { Report } from './report.ts';
import type { ExpressionDraft } from './rule-drafts.ts';

/** A budget or rate limit with its checked expressions; null for an expression that is absent or wrong. */
interface CheckedLimit<Draft> {
  readonly draft: Draft;
  readonly match: Program | null;
  readonly each: TextProgram | null;
}

/** Checks the expressions of every budget or rate limit. */
export function* checkLimits<Draft extends BudgetDraft | RateLimitDraft>(
  drafts: readonly Draft[],
  kind: 'budget' | 'limit',
  check: ExpressionChecker,
  report: Report,
): Generator<undefined, readonly CheckedLimit<Draft>[]> {
  const checked: CheckedLimit<Draft>[] = [];
  for (const draft of drafts) {
    const match = check.match(draft.match, kind);
    const each = draft.each === 'address' ? null : check.each(draft.each, kind);
    // A wrong `match` does not tell which keys `each` runs for.
    if (each && (match || !draft.match)) reviewEach(each, match, report, CONTEXTS[kind]);
    checked.push({ draft, match, each });
    yield;
  }
  return checked;
}

export function compileBudget({ draft, match, each }: CheckedLimit<BudgetDraft>): Budget {
  const { name, place, limit, window, timeZone, onExhausted, alertAt } = draft;
  return {
    name,
    place,
    match: match && ((scope) => match.run(budgetViewOf(scope))),
    each: each && ((scope) => each.run(budgetViewOf(scope))),
    window,
    timeZone,
    definition: JSON.stringify([textOf(draft.match), textOf(draft.each), window, timeZone]),
    limit,
    onExhausted,
    alertAt,
  };
}

function textOf(draft: ExpressionDraft | null): string | null {
  return draft?.text.trim() ?? null;
}

export function compileRateLimit({ draft, match, each }: CheckedLimit<RateLimitDraft>): RateLimit {
  const { name, place, figures } = draft;
  return {
    name,
    place,
    match: match && ((scope) => match.run(limitViewOf(scope))),
    each: draft.each === 'address' ? 'address' : each && ((scope) => each.run(limitViewOf(scope))),
    figures,
  };
}

/** The kind of limit that an `each` divides. */
interface EachContext {
  readonly kind: 'budget' | 'limit';
  viewOf(scope: BudgetScope): Readonly<Record<string, unknown>>;
  /** Each value of the expression has its own one of these. */
  readonly unit: 'window' | 'limit';
}

const CONTEXTS: Readonly<Record<'budget' | 'limit', EachContext>> = {
  budget: { kind: 'budget', viewOf: budgetViewOf, unit: 'window' },
  limit: { kind: 'limit', viewOf: limitViewOf, unit: 'limit' },
};

/** Warns of an `each` that fails, or that may group keys by mistake. */
function reviewEach(each: TextProgram, match: Program | null, report: Report, context: EachContext): void {
  const { ast, placeOf, draft } = each;
  const accesses = [...accessesOf(ast)];
  if (accesses.length === 0) {
    report.add('shared-window', placeOf(ast), `\`${draft.path}\` has the same value for everyone`, {
      hint: `to give everyone one ${context.unit} together, remove \`each\`; \`key.labels.team\` gives each team its own, \`key\` each key`,
    });
    return;
  }
  const bare = context.viewOf(EMPTY_KEY);
  const ofNoLabels = tryRun(each, bare);
  const isMatched = !match || tryRun(match, bare).value !== false;
  if (ofNoLabels.failure !== undefined && isMatched) {
    const message = `\`${draft.path}\` fails for some requests and then counts as the empty text: ${ofNoLabels.failure}`;
    report.add('when-can-fail', placeOf(ast), message, {
      hint: 'require in `match` what the expression needs, such as `key.labels.team.contains("-")`',
    });
    return;
  }
  for (const label of new Set(accesses.map(({ path }) => labelOf(path)))) {
    if (label !== null && isShared(label, each, match, context)) warnOfShared(label, each, match, report, context);
  }
}

/** Whether keys without a label share one limit, probably by mistake. */
function isShared(label: string, each: TextProgram, match: Program | null, context: EachContext): boolean {
  // A comparison with the label shows that keys without it were considered.
  if (isComparedIn(each.ast, label)) return false;
  // So does a fallback on the ID of the key.
  const probe = { ...EMPTY_KEY, key: { ...EMPTY_KEY.key, id: '\u0000' } };
  if (tryRun(each, context.viewOf(probe)).value?.includes('\u0000')) return false;
  return !match || !partsOf(match.ast).some((part) => isDemand(part, label, context));
}

function isComparedIn(ast: ASTNode, label: string): boolean {
  const isIt = (node: ASTNode) => labelOf(pathOf(node)) === label;
  return [...nodesOf(ast)].some((node) => (node.op === '==' || node.op === '!=') && node.args.some(isIt));
}

/** Whether a part of a condition reads only this label and is false for keys without it. */
function isDemand(part: ASTNode, label: string, { kind, viewOf }: EachContext): boolean {
  const accesses = [...accessesOf(part)];
  if (accesses.length === 0 || !accesses.every(({ path }) => labelOf(path) === label)) return false;
  const run = (view: Readonly<Record<string, unknown>>) => environmentOf(kind).parse(serialize(part))(view);
  return tryRun({ run }, viewOf(EMPTY_KEY)).value === false;
}

/** The label of `key.labels.team`; null for anything else. */
function labelOf(path: readonly string[] | null): string | null {
  const [owner, field, label] = path ?? [];
  return owner === 'key' && field === 'labels' && path?.length === 3 ? (label ?? null) : null;
}

function warnOfShared(
  label: string,
  each: TextProgram,
  match: Program | null,
  report: Report,
  { unit }: EachContext,
): void {
  const { ast, placeOf, draft } = each;
  const node = [...accessesOf(ast)].find(({ path }) => labelOf(path) === label)?.node ?? ast;
  const written = node.input.slice(node.start, node.end);
  const message = `\`${draft.path}\`: all keys without the label \`${label}\` share one ${unit}`;
  const orOthers = `${written} == "" ? "others" : ${written}`;
  const toName = node === ast ? `\`each: '${orOthers}'\`` : `\`(${orOthers})\` for it, and quotes around the whole`;
  report.add('shared-window', placeOf(node), message, {
    hint: `to exclude them, ${demandOf(`${written} != ""`, match)}; to give them one ${unit} together, write ${toName}`,
  });
}

function demandOf(demand: string, match: Program | null): string {
  if (!match) return `write \`match: ${demand}\``;
  const isLoose = match.ast.op === '||' || match.ast.op === '?:';
  return `${isLoose ? 'put `match` in brackets and ' : ''}add \`&& ${demand}\` to ${isLoose ? 'it' : '`match`'}`;
}
