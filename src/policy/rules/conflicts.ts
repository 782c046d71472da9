import { isConversation, OPERATIONS, type Operation, servesChats } from '../../core/kinds/operations.ts';
import { accessesOf, literalOf } from '../cel/ast.ts';
import type { Program } from '../cel/check.ts';
import { findContradiction } from '../cel/contradictions.ts';
import { EMPTY_REQUEST, tryRun } from '../cel/trials.ts';
import { viewOf } from '../cel/types.ts';
import { listNames } from '../report/nearest.ts';
import type { Report } from '../report/report.ts';
import { type RequestSpace, type SharedRequest, sharedRequest } from './shared-request.ts';

/** The most pairs of rules that one load lists. */
const CONFLICTS_MAX = 20;
/** The most pairs of rules whose conditions one load of a policy compares. Each comparison of a pair takes up to 400 evaluations. */
const COMPARED_MAX = 100;
/** Pairs compared in one step. */
const PAIRS_PER_STEP = 16;
/** The most models that a message names for each rule. */
const NAMES_MAX = 5;

/** A rule about models, with the models and endpoints that it allows. */
export interface ModelRule {
  /** How messages name the rule, such as ``constraint `legal` ``. */
  readonly title: string;
  readonly require: Program;
  /**
   * Allowed endpoints that can serve in this environment, by operation. The numbers in these sets are positions of endpoints in the
   * catalog.
   */
  readonly admits: Readonly<Record<Operation, ReadonlySet<number>>>;
  /** All endpoints that the rule allows, also endpoints that cannot serve in this environment. */
  readonly fits: Readonly<Record<Operation, ReadonlySet<number>>>;
  /** Maps each wildcard to whether the rule allows all of its models; false if that depends on the model. */
  readonly wildcards: ReadonlyMap<string, boolean>;
}

/** A constraint with its condition; null for none. */
export interface ConditionalRule extends ModelRule {
  readonly when: Program | null;
}

/** The filter of a selector. */
export interface SelectorRule extends ModelRule {
  readonly selector: string;
}

/** The rules of a policy about models. */
export interface CatalogRules {
  readonly constraints: readonly ConditionalRule[];
  readonly filters: readonly SelectorRule[];
  /** The model ID of each endpoint, by the endpoint's position in the catalog. */
  readonly ids: readonly string[];
  /** The possible requests of each operation that is served. */
  readonly spaces: readonly RequestSpace[];
}

/**
 * Warns about pairs of rules that each allow some model but no common one, and about larger sets of such rules if all apply to every
 * request. `reviewConflicts` takes constraints × rules steps. `reviewConflicts` warns only if some request is certainly subject to both
 * rules.
 */
export function* reviewConflicts(rules: CatalogRules, report: Report): Generator<undefined, void> {
  const { constraints, filters, spaces } = rules;
  const limits = { listed: 0, compared: 0 };
  for (const [at, rule] of constraints.entries()) {
    for (const [i, filter] of filters.entries()) {
      if (i % PAIRS_PER_STEP === 0) yield;
      const space = spaces.find(({ operation }) => isDisjoint(filter, rule, operation));
      if (!space || limits.listed >= CONFLICTS_MAX || !alwaysAppliesTo(filter.selector, rule.when, space)) continue;
      limits.listed++;
      const hint = `every ${wordsFor(space, rules)[0]} to the selector \`${filter.selector}\` is refused`;
      reportConflict([filter, rule], space, rules, report, hint);
    }
    for (const [i, other] of constraints.slice(0, at).entries()) {
      if (i % PAIRS_PER_STEP === 0) yield;
      if (limits.listed < CONFLICTS_MAX && (yield* reviewPair([other, rule], rules, limits, report))) limits.listed++;
    }
  }
  if (limits.listed === 0) reviewTogether(rules, report);
}

type Pair<Rule extends ModelRule = ModelRule> = readonly [first: Rule, second: Rule];

/** Warns about two constraints that together allow no model for requests of an operation. `reviewPair` returns whether it warned. */
function* reviewPair(
  pair: Pair<ConditionalRule>,
  rules: CatalogRules,
  limits: { compared: number },
  report: Report,
): Generator<undefined, boolean> {
  for (const space of rules.spaces) {
    if (limits.compared >= COMPARED_MAX || !isDisjoint(...pair, space.operation)) continue;
    limits.compared++;
    const hint = yield* sharedHint(pair, space, rules);
    if (hint === null) continue;
    reportConflict(pair, space, rules, report, hint);
    return true;
  }
  return false;
}

/**
 * Warns about constraints that apply to every request and together leave no chat model, although every pair of these constraints leaves a
 * model.
 */
function reviewTogether(rules: CatalogRules, report: Report): void {
  const space = rules.spaces.find(({ operation }) => operation === 'chat');
  const constraints = rules.constraints.filter(({ when, admits }) => when === null && admits.chat.size > 0);
  const [first, ...others] = constraints;
  if (!space || !first) return;
  let left = first.admits.chat;
  for (const [at, rule] of others.entries()) {
    left = left.intersection(rule.admits.chat);
    if (left.size > 0) continue;
    const titles = [first, ...others.slice(0, at + 1)].map(({ title }) => title);
    const message = `no model that can serve in this environment satisfies ${titles.slice(0, -1).join(', ')} and ${titles.at(-1)} together`;
    const related = { place: first.require.placeOf(first.require.ast), message: first.title };
    const hint = `all of them apply to every request, so every ${wordsFor(space, rules)[0]} is refused`;
    report.add('rules-conflict', rule.require.placeOf(rule.require.ast), message, { hint, related });
    return;
  }
}

/** Whether two rules have no allowed model of the catalog in common, and no wildcard of which both allow all models. */
const isDisjoint = (a: ModelRule, b: ModelRule, operation: Operation): boolean =>
  // A rule that allows no model is reported separately.
  a.admits[operation].size > 0 &&
  b.admits[operation].size > 0 &&
  a.admits[operation].isDisjointFrom(b.admits[operation]) &&
  !sharedWildcards([a, b]).some((name) => a.wildcards.get(name) && b.wildcards.get(name));

const sharedWildcards = ([a, b]: Pair): readonly string[] =>
  [...a.wildcards.keys()].filter((name) => b.wildcards.has(name));

/** Whether a constraint applies to every request to a selector. */
function alwaysAppliesTo(selector: string, when: Program | null, { operation }: RequestSpace): boolean {
  if (when === null) return true;
  const reads = new Set([...accessesOf(when.ast)].map(({ path }) => path.join('.')));
  if (!reads.isSubsetOf(new Set(['request.model', 'request.operation']))) return false;
  const { request } = EMPTY_REQUEST;
  const view = viewOf({ ...EMPTY_REQUEST, request: { ...request, operation, model: selector } });
  return tryRun(when, view).value === true;
}

/** Returns the words for requests of an operation, singular and plural. */
function wordsFor({ operation }: RequestSpace, { spaces }: Pick<CatalogRules, 'spaces'>): readonly [string, string] {
  if (spaces.length < 2) return ['request', 'requests'];
  if (isConversation(operation)) return ['chat', 'chats'];
  const { serves } = OPERATIONS[operation];
  return [`request for ${serves}`, `requests for ${serves}`];
}

/** Describes what happens to requests for which two conditions are true; null unless such requests certainly exist. */
function* sharedHint(
  pair: Pair<ConditionalRule>,
  space: RequestSpace,
  rules: CatalogRules,
): Generator<undefined, string | null> {
  const [{ when: a }, { when: b }] = pair;
  const [one, several] = wordsFor(space, rules);
  const conditions = [a, b].filter((condition) => condition !== null);
  const [condition, other] = conditions;
  const open = sharedWildcards(pair);
  const orOpen = openText(open);
  if (!condition) return `both apply to every request, so every ${one} is refused${orOpen}`;
  const text = condition.draft.text.trim();
  const isOne = other === undefined || other.draft.text.trim() === text;
  // Perhaps no caller satisfies both conditions, such as an intern in the legal department. Every caller can send every request.
  const fields = conditions.map(callerFields);
  if (!isOne && fields.every((read) => read !== '') && fields[0] !== fields[1]) return null;
  const request = yield* sharedRequest(conditions, space);
  // A name that is not in the catalog may mean a wildcard's model.
  const named = request?.get('request.model');
  if (open.length > 0 && named !== undefined && named !== space.model && !space.names.has(String(named))) return null;
  if (isOne)
    return request || certainlyApplies(condition, space) ? `${several} with \`${text}\` are refused${orOpen}` : null;
  return (
    request && `${several} to which both apply are refused, for example a request with ${requestText(request)}${orOpen}`
  );
}

/**
 * Whether a condition certainly applies to some chat although no example was found: it does not read the operation and contains no
 * contradiction.
 */
const certainlyApplies = (when: Program, { operation }: RequestSpace): boolean =>
  operation === 'chat' &&
  ![...accessesOf(when.ast)].some(({ path }) => path.join('.') === 'request.operation') &&
  !neverApplies(when);

/** Returns the facts about the caller that a condition reads, as one text. */
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
  [first, second]: Pair,
  { operation }: RequestSpace,
  { ids }: CatalogRules,
  report: Report,
  hint: string,
): void {
  const admitted = ({ admits }: ModelRule) => few(new Set([...admits[operation]].map((at) => ids[at]!)));
  const elsewhere = !first.fits[operation].isDisjointFrom(second.fits[operation]);
  const message = `no model${elsewhere ? ' that can serve in this environment' : ''} satisfies both ${first.title} and ${second.title}: the first allows ${admitted(first)}, the second allows ${admitted(second)}`;
  const related = { place: first.require.placeOf(first.require.ast), message: first.title };
  report.add('rules-conflict', second.require.placeOf(second.require.ast), message, { hint, related });
}

/** Returns what a message adds if the rules may allow models of wildcards. */
const openText = (wildcards: readonly string[]): string =>
  wildcards.length > 0
    ? `; a model of ${few(new Set(wildcards))} that a caller names is checked when it is requested`
    : '';

function few(names: ReadonlySet<string>): string {
  const more = names.size - NAMES_MAX;
  return listNames([...names].slice(0, NAMES_MAX)) + (more > 0 ? ` and ${more} more` : '');
}

/** A model with one of its endpoints, or a wildcard, as a constraint sees it. */
export interface ConstraintTarget {
  readonly id: string;
  /** The operations that the model serves, as bits of `OPERATIONS`. */
  readonly operations: number;
  readonly isServed: boolean;
  /** Whether the provider of the model serves only if no other provider can serve a model. */
  readonly isHeldBack: boolean;
  /** Whether the target represents the models of a wildcard. */
  readonly isOpen: boolean;
}

/** A constraint with the targets that it allows, at least one. */
interface AdmittingConstraint {
  readonly require: Program;
  /** The condition of the constraint; null for none, undefined for a wrong condition. */
  readonly when: Program | null | undefined;
  readonly admitted: ReadonlySet<ConstraintTarget>;
}

/**
 * Warns about a constraint that leaves no model which can serve chats, although it allows other models: models for embeddings, models that
 * cannot be served in this environment, or models of wildcards, which selectors never choose.
 */
export function* reviewChats(
  { require, when, admitted }: AdmittingConstraint,
  targets: readonly ConstraintTarget[],
  { spaces }: Pick<CatalogRules, 'spaces'>,
  report: Report,
): Generator<undefined, void> {
  const isChat = (one: ConstraintTarget) => !one.isOpen && servesChats(one);
  const fitting = [...admitted].filter(isChat);
  const isServable = targets.some((one) => isChat(one) && one.isServed);
  if (!isServable || when === undefined || fitting.some(({ isServed }) => isServed)) return;
  const at = require.placeOf(require.ast);
  const path = require.draft.path;
  const open = openText([...admitted].flatMap(({ id, isOpen, isServed }) => (isOpen && isServed ? id : [])));
  if (fitting.length > 0) {
    // A rule for some requests may be meant for another environment, and so may providers with `serve: when_alone`.
    if (when !== null || fitting.some(({ isHeldBack }) => isHeldBack)) return;
    const names = few(new Set(fitting.map(({ id }) => id)));
    report.add(
      'satisfied-by-none',
      at,
      `no model that can serve in this environment satisfies \`${path}\`: no provider can serve ${names}`,
      {
        hint: `every chat is refused; set the environment variable of a provider that serves such a model${open}`,
      },
    );
    return;
  }
  if (when !== null && !(yield* isForChatsAlone(when, spaces))) return;
  const others = new Set([...admitted].flatMap(({ id, isOpen }) => (isOpen ? [] : id)));
  const whose = others.size > 0 ? `: ${few(others)} can only embed texts, not answer chats` : '';
  const which = when === null ? 'every chat is refused' : 'chats that this constraint applies to are refused';
  const only =
    when === null && others.size > 0 ? '; for a rule on embeddings, add `when: request.operation == "embed"`' : '';
  report.add('satisfied-by-none', at, `no chat model satisfies \`${path}\`${whose}`, { hint: which + only + open });
}

/**
 * Whether a condition is true for some chat, and for no request for embeddings. A condition that reads only the caller is true for chats
 * and for embeddings.
 */
function* isForChatsAlone(when: Program, spaces: readonly RequestSpace[]): Generator<undefined, boolean> {
  let isForChats = false;
  for (const space of spaces) {
    const isFound = (yield* sharedRequest([when], space)) !== null;
    if (isFound && space.operation !== 'chat') return false;
    isForChats ||= isFound;
  }
  return isForChats;
}
