import { accessesOf, literalOf } from './cel-ast.ts';
import type { Program } from './cel-check.ts';
import { findContradiction } from './cel-contradictions.ts';
import { viewOf } from './cel-types.ts';
import { EMPTY_REQUEST, tryRun } from './expressions.ts';
import { listNames } from './nearest.ts';
import type { Report } from './report.ts';
import { type SharedRequest, sharedRequest } from './shared-request.ts';

/** Pairs that one load lists at most. */
const CONFLICTS_MAX = 20;
/** Pairs whose conditions one load compares at most: each takes up to 400 evaluations. */
const COMPARED_MAX = 100;
/** Pairs compared in one step. */
const PAIRS_PER_STEP = 16;
/** Models that a message names of each rule. */
const NAMES_MAX = 5;

/** A rule on models with the endpoints that it admits. */
export interface ModelRule {
  /** Such as ``constraint `legal` ``. */
  readonly title: string;
  readonly require: Program;
  /** The endpoints, by their places in the catalog. An endpoint of a wildcard counts if the rule may admit one of its models. */
  readonly admits: ReadonlySet<number>;
}

/** A constraint with its condition; null for none. */
export interface ConditionalRule extends ModelRule {
  readonly when: Program | null;
}

/** The filter of a selector. */
export interface SelectorRule extends ModelRule {
  readonly selector: string;
}

/** The rules of a policy on models. */
export interface CatalogRules {
  readonly constraints: readonly ConditionalRule[];
  readonly filters: readonly SelectorRule[];
  /** The ID of the model of an endpoint, by the endpoint's place in the catalog. */
  readonly ids: readonly string[];
}

/**
 * Warns of pairs of rules that each admit some model, and together none. Takes constraints × rules steps, and is silent unless one request
 * can certainly be subject to both.
 */
export function* reviewConflicts(rules: CatalogRules, report: Report): Generator<undefined, void> {
  const { constraints, filters } = rules;
  let listed = 0;
  let compared = 0;
  for (const [at, rule] of constraints.entries()) {
    for (const [i, filter] of filters.entries()) {
      if (i % PAIRS_PER_STEP === 0) yield;
      if (listed < CONFLICTS_MAX && isDisjoint(rule, filter) && alwaysAppliesTo(filter.selector, rule.when)) {
        listed++;
        const hint = `every request to the selector \`${filter.selector}\` is refused`;
        reportConflict(filter, rule, rules, report, hint);
      }
    }
    for (const [i, other] of constraints.slice(0, at).entries()) {
      if (i % PAIRS_PER_STEP === 0) yield;
      if (listed >= CONFLICTS_MAX || compared >= COMPARED_MAX || !isDisjoint(rule, other)) continue;
      compared++;
      const hint = yield* sharedHint(other.when, rule.when);
      if (hint === null) continue;
      listed++;
      reportConflict(other, rule, rules, report, hint);
    }
  }
}

const isDisjoint = (a: ModelRule, b: ModelRule): boolean =>
  // One rule that admits nothing is reported alone.
  a.admits.size > 0 && b.admits.size > 0 && a.admits.isDisjointFrom(b.admits);

/** Whether a constraint applies to every request to a selector. */
function alwaysAppliesTo(selector: string, when: Program | null): boolean {
  if (when === null) return true;
  if ([...accessesOf(when.ast)].some(({ path }) => path.join('.') !== 'request.model')) return false;
  const { request } = EMPTY_REQUEST;
  return tryRun(when, viewOf({ ...EMPTY_REQUEST, request: { ...request, model: selector } })).value === true;
}

/** What happens to requests that two conditions are true for; null unless there certainly are such requests. */
function* sharedHint(a: Program | null, b: Program | null): Generator<undefined, string | null> {
  if (a === null && b === null) return 'both apply to every request, so every request is refused';
  const condition = a ?? b;
  if (a === null || b === null || a.draft.text.trim() === b.draft.text.trim()) {
    if (condition && neverApplies(condition)) return null;
    return `requests with \`${condition?.draft.text.trim()}\` are refused`;
  }
  const [ofA, ofB] = [callerFields(a), callerFields(b)];
  // Perhaps no caller has both, such as an intern of the legal department. But every caller can send every request.
  if (ofA !== '' && ofB !== '' && ofA !== ofB) return null;
  const request = yield* sharedRequest(a, b);
  return request && `requests to which both apply are refused, such as one with ${requestText(request)}`;
}

/** What a condition reads of the caller, as one text. */
function callerFields({ ast }: Program): string {
  const paths = [...accessesOf(ast)].filter(({ path: [variable] }) => variable !== 'request' && variable !== 'time');
  return [...new Set(paths.map(({ path }) => path.join('.')))].sort().join(' ');
}

const neverApplies = (when: Program): boolean =>
  literalOf(when.ast) === false ||
  findContradiction(when.ast, () => tryRun(when, viewOf(EMPTY_REQUEST)).value !== false) !== null;

const requestText = (request: SharedRequest): string =>
  [...request].map(([path, value]) => `\`${path}\` ${JSON.stringify(value)}`).join(' and ');

function reportConflict(
  first: ModelRule,
  second: ModelRule,
  { ids }: CatalogRules,
  report: Report,
  hint: string,
): void {
  const admitted = ({ admits }: ModelRule) => few(new Set([...admits].map((at) => ids[at]!)));
  const message = `no model that can serve satisfies both ${first.title} and ${second.title}: the first admits ${admitted(first)}, the second ${admitted(second)}`;
  const related = { place: first.require.placeOf(first.require.ast), message: first.title };
  report.add('rules-conflict', second.require.placeOf(second.require.ast), message, { hint, related });
}

function few(names: ReadonlySet<string>): string {
  const more = names.size - NAMES_MAX;
  return listNames([...names].slice(0, NAMES_MAX)) + (more > 0 ? ` and ${more} more` : '');
}
