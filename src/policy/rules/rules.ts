import {
  byOperation,
  isConversation,
  OPERATION_NAMES,
  OPERATIONS,
  type Operation,
  OTHER_BITS,
  VECTOR_BITS,
} from '../../core/kinds/operations.ts';
import { type Constraint, emptyBits, type Preference, setBit } from '../../core/policy/rules.ts';
import type { Model, PolicySnapshot, Task, WildcardModel } from '../../core/policy/snapshot.ts';
import { capabilityNames, OF_EVERY_DIALECT } from '../../core/request/capability.ts';
import { plural } from '../../core/text/text.ts';
import { type ASTNode, literalOf, nodesOf, pathOf } from '../cel/ast.ts';
import type { Program } from '../cel/check.ts';
import { readsIntent } from '../cel/intent.ts';
import { hintForTags } from '../cel/references.ts';
import { EMPTY_REQUEST, tryRun } from '../cel/trials.ts';
import { modelViews, viewOf, withholdOpen, withholdUnstated } from '../cel/types.ts';
import type { DraftReader } from '../define/section.ts';
import { MODELS } from '../models/catalog.ts';
import { isWildcard, type ModelDraft } from '../models/models.ts';
import { servable } from '../models/wildcards.ts';
import { PROVIDERS } from '../providers/providers.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import { listNames } from '../report/nearest.ts';
import type { Report } from '../report/report.ts';
import { TASKS } from '../sections/tasks.ts';
import { type CheckedFilter, SELECTORS } from '../selectors/selectors.ts';
import {
  type ConditionalRule,
  type ConstraintTarget,
  type ModelRule,
  reviewChats,
  reviewConflicts,
  type SelectorRule,
} from './conflicts.ts';
import type { CheckedConstraint } from './constraints.ts';
import type { CheckedPreference } from './preferences.ts';
import type { RequestSpace } from './shared-request.ts';

/** The rules of a policy with their checked expressions; null for an expression that is absent or wrong. */
export interface CheckedRules {
  readonly constraints: readonly CheckedConstraint[];
  readonly preferences: readonly CheckedPreference[];
  readonly filters: readonly CheckedFilter[];
}

/** The compiled rules of a policy. */
export interface CompiledRules {
  readonly constraints: readonly Constraint[];
  readonly preferences: readonly Preference[];
  /** Maps each selector to the models that its filter allows, as bits by index of the model. */
  readonly filters: ReadonlyMap<string, Uint32Array>;
  /** Whether a condition depends on the text of the prompt. */
  readonly readIntent: boolean;
}

/**
 * A model or endpoint of the catalog on which a rule is evaluated. An expression that fails for a wildcard may still allow some of the
 * wildcard's models.
 */
interface RuleTarget extends ConstraintTarget {
  /** Provider of the endpoint, or of the model's first endpoint. */
  readonly provider: string;
  readonly view: Readonly<Record<string, unknown>>;
  /** The bit of the endpoint; -1 if the endpoint cannot be served in this environment, or is no candidate. */
  readonly slot: number;
  /** The number of slots of the endpoint: one for each account of its provider. */
  readonly slots: number;
}

/** The models of the catalog, and the other sections of the policy. */
interface RuledCatalog {
  readonly of: DraftReader;
  readonly drafts: readonly ModelDraft[];
}

/** The models and providers that can be served. If no models can be served, rules are checked as if everything could be served. */
type ServedCatalog = Pick<PolicySnapshot, 'models' | 'providers'>;

/** Models converted to views in one step. */
const VIEWS_PER_STEP = 50;
/** Evaluations of an expression in one step. The most expensive expression takes about 4 ms for these evaluations. */
const EVALUATIONS_PER_STEP = 16;

/** Evaluates every rule over the catalog, and keeps the bits of models and endpoints that can be served in this environment. */
export function* compileRules(
  catalog: RuledCatalog,
  rules: CheckedRules,
  { models: served, providers }: ServedCatalog,
  report: Report,
): Generator<undefined, CompiledRules> {
  const compiler = new RuleCompiler(catalog, { models: served, providers }, report);
  yield* compiler.readCatalog();
  const constraints: Constraint[] = [];
  for (const constraint of rules.constraints) constraints.push(yield* compiler.constraint(constraint));
  const preferences: Preference[] = [];
  for (const preference of rules.preferences) preferences.push(yield* compiler.preference(preference));
  const filters = new Map<string, Uint32Array>();
  for (const filter of rules.filters) {
    if (filter.require) filters.set(filter.selector, yield* compiler.filter(filter, filter.require));
  }
  yield* compiler.reviewConflicts();
  const conditions = [...rules.constraints, ...rules.preferences].map(({ when }) => when);
  const readIntent = conditions.some((when) => when !== null && readsIntent(when.ast));
  return { constraints, preferences, filters, readIntent };
}

/** The effects of the policy's rules on a model, and the selectors whose filter allows the model. */
type ModelJudgement = Omit<WildcardModel, 'model'> & { readonly chosen: ReadonlySet<string> };

/**
 * Evaluates the rules on one model with one endpoint that are not in the catalog. A quality, language, region or tag that is not stated is
 * unknown: an expression that reads it fails, and so counts as false.
 */
export function judgeModel(
  { constraints, preferences, filters }: CheckedRules,
  tasks: readonly Pick<Task, 'name'>[],
  draft: ModelDraft,
): ModelJudgement {
  const names = tasks.map(({ name }) => name);
  const [view = {}] = modelViews(draft, capabilityNames(draft.model.capabilities & ~OF_EVERY_DIALECT), names);
  withholdUnstated(view, draft);
  const holds = (program: Program | null) => program !== null && tryRun(program, view).value === true;
  return {
    allowed: constraints.map(({ require }) => require === null || holds(require)),
    preferred: preferences.map(({ prefer }) => holds(prefer)),
    chosen: new Set(filters.flatMap(({ selector, require }) => (holds(require) ? selector : []))),
  };
}

class RuleCompiler {
  readonly #of: DraftReader;
  readonly #drafts: readonly ModelDraft[];
  readonly #served: readonly Model[];
  readonly #providers: ServedCatalog['providers'];
  readonly #report: Report;
  readonly #endpoints: RuleTarget[] = [];
  readonly #models: RuleTarget[] = [];
  readonly #constraints: ConditionalRule[] = [];
  readonly #filters: SelectorRule[] = [];
  #spaces: readonly RequestSpace[] = [];
  /** Positions of endpoints that declare no regions. */
  readonly #undeclared = new Set<number>();

  constructor({ of, drafts }: RuledCatalog, { models, providers }: ServedCatalog, report: Report) {
    this.#of = of;
    this.#drafts = drafts;
    this.#served = models;
    this.#providers = providers;
    this.#report = report;
  }

  *readCatalog(): Generator<undefined, void> {
    const tasks = this.#of(TASKS).map(({ name }) => name);
    const alone = this.#of(PROVIDERS).named.flatMap(({ name, data }) => (data?.serve === 'when_alone' ? name : []));
    const indexes = new Map(this.#served.map((model, index) => [model.id, index]));
    for (const [at, draft] of servable({ models: this.#drafts, wildcards: this.#of(MODELS).wildcards }).entries()) {
      const { id } = draft.model;
      const { operations } = draft.model;
      const isOpen = isWildcard(id);
      const isAny = this.#served.length === 0;
      const index = indexes.get(id) ?? -1;
      const model = this.#served[index];
      const views = modelViews(draft, capabilityNames(draft.model.capabilities & ~OF_EVERY_DIALECT), tasks);
      /** The endpoints of the model before this one, with one for each key of their providers. */
      let before = 0;
      for (const [i, { endpoint }] of draft.endpoints.entries()) {
        const keys = this.#providers.get(endpoint.provider)?.accounts.length ?? 0;
        const place = model && keys > 0 ? before : -1;
        before += keys;
        const view = views[i] ?? {};
        if (isOpen) withholdOpen(view);
        else if (endpoint.regions.length === 0) this.#undeclared.add(this.#endpoints.length);
        const isServed = isAny || (isOpen ? this.#providers.has(endpoint.provider) : place >= 0);
        const { provider } = endpoint;
        const target = { id, provider, view, operations, isOpen, isHeldBack: alone.includes(provider) };
        const slot = model && place >= 0 ? model.firstSlot + place : -1;
        this.#endpoints.push({ ...target, isServed, slot, slots: Math.max(1, keys) });
        if (i === 0 && !isOpen) this.#models.push({ ...target, isServed: isAny || index >= 0, slot: index, slots: 1 });
      }
      if (at % VIEWS_PER_STEP === 0) yield;
    }
    this.#spaces = this.#spacesServed();
  }

  /** Whether the policy declares anything to serve. A policy may also serve only models that are found. */
  get #hasCatalog(): boolean {
    return this.#endpoints.length > 0;
  }

  *constraint({ draft, when, require }: CheckedConstraint): Generator<undefined, Constraint> {
    const { name, place, maxLatencyMs, maxCostCredits } = draft;
    const slots = this.#served.reduce((sum, model) => sum + model.endpoints.length, 0);
    const matches = require && (yield* this.#evaluate(require, this.#endpoints, slots));
    // `require: false` refuses requests on purpose.
    if (require && matches?.ofCatalog === 0 && this.#hasCatalog && !(draft.when && literalOf(require.ast) === false)) {
      const at = require.placeOf(require.ast);
      const message = `no model of the catalog satisfies \`${require.draft.path}\``;
      const hint = draft.when
        ? 'requests that this constraint applies to are refused'
        : 'a constraint without `when` applies to every request, so every request would be refused';
      this.#report.add(draft.when ? 'satisfied-by-none' : 'refuses-everything', at, message, { hint });
    }
    if (require) yield* this.#reviewUndeclared(require);
    // If the condition of a rule is wrong, it is unknown when the rule applies.
    if (require && matches && (when || !draft.when)) {
      const { admitted, matched } = matches;
      const open = [...admitted].filter(({ isOpen, isServed }) => isOpen && isServed).map(({ id }) => id);
      const wildcards = new Map(open.map((id) => [id, matched.has(id)]));
      const sets = this.#admitting((target) => admitted.has(target));
      this.#constraints.push({ title: `constraint \`${name}\``, require, when, ...sets, wildcards });
      const isCertain = open.some((id) => matched.has(id));
      if (admitted.size > 0 && !isCertain) {
        yield* reviewChats({ require, when, admitted }, this.#endpoints, { spaces: this.#spaces }, this.#report);
      }
    }
    const allows = matches?.bits ?? null;
    const unserved = unservedOf(matches?.admitted ?? []);
    const ceilings = { maxLatencyMs, maxCostCredits };
    return { name, place, when: conditionOf(when), allows, ...(unserved.length > 0 && { unserved }), ...ceilings };
  }

  /**
   * Warns about a rule that excludes a region. A rule that excludes a region also allows endpoints that declare no region, wherever they
   * are.
   */
  *#reviewUndeclared(require: Program): Generator<undefined, void> {
    const excluded = excludedRegion(require.ast);
    if (!excluded) return;
    const undeclared = this.#endpoints.filter((_, at) => this.#undeclared.has(at));
    const admitted: string[] = [];
    for (const [at, { id, view }] of undeclared.entries()) {
      if (at % EVALUATIONS_PER_STEP === 0) yield;
      if (tryRun(require, view).value) admitted.push(id);
    }
    if (admitted.length === 0) return;
    const message = `\`${require.draft.path}\` allows ${plural(admitted.length, 'endpoint')} without \`regions\`, of ${listNames(new Set(admitted))}`;
    this.#report.add('admits-undeclared', require.placeOf(excluded), message, {
      hint: 'name the allowed regions, such as `"eu" in endpoint.regions`, or add `&& size(endpoint.regions) > 0`',
    });
  }

  *preference({ draft, when, prefer }: CheckedPreference): Generator<undefined, Preference> {
    const { name, place, worth } = draft;
    const matches = prefer && (yield* this.#evaluate(prefer, this.#models, this.#served.length));
    if (prefer && matches?.ofCatalog === 0 && this.#hasCatalog) {
      const message = `\`${prefer.draft.path}\` prefers no model of the catalog`;
      this.#report.add('prefers-none', prefer.placeOf(prefer.ast), message);
    }
    const prefers = matches?.bits ?? emptyBits(this.#served.length);
    return { name, place, when: conditionOf(when), prefers, worth: worth ?? 0 };
  }

  *filter({ selector, vectorSpace }: CheckedFilter, require: Program): Generator<undefined, Uint32Array> {
    const { bits, ofCatalog, ofServed, matched } = yield* this.#evaluate(require, this.#models, this.#served.length);
    const at = require.placeOf(require.ast);
    if (ofCatalog === 0 && this.#hasCatalog) {
      const tags = [...new Set(this.#drafts.flatMap(({ model }) => model.tags))];
      const message = `selector \`${selector}\` has no candidates: no model passes its filter`;
      const hint = this.#report.mayCompare(tags.length) ? hintForTags(require.ast, tags) : undefined;
      this.#report.add('selector-empty', at, message, { hint });
    } else if (ofServed === 0 && this.#hasCatalog && this.#served.length > 0) {
      const message = `selector \`${selector}\` has no candidates in this environment: no provider can serve a model that passes its filter`;
      const hint = 'set the environment variable of a provider that serves such a model';
      this.#report.add('selector-idle', at, message, { hint });
    }
    if (vectorSpace === null) this.#checkSpaces(selector, matched, at);
    const sets = this.#admitting(({ id }) => matched.has(id));
    const title = `the filter of the selector \`${selector}\``;
    this.#filters.push({ title, require, selector, ...sets, wildcards: NO_WILDCARDS });
    return bits;
  }

  /** Warns about rules that together allow no model. */
  *reviewConflicts(): Generator<undefined, void> {
    const ids = this.#endpoints.map(({ id }) => id);
    const rules = { constraints: this.#constraints, filters: this.#filters, ids, spaces: this.#spaces };
    yield* reviewConflicts(rules, this.#report);
  }

  /** Returns the endpoints of the catalog that satisfy a rule, by operation: those that can serve in this environment, and all. */
  #admitting(isFitting: (target: RuleTarget) => boolean): Pick<ModelRule, 'admits' | 'fits'> {
    const fitting = [...this.#endpoints.keys()].filter((at) => isFitting(this.#endpoints[at]!));
    const able = (isServed: boolean) =>
      byOperation((operation) => new Set(fitting.filter((at) => canServe(this.#endpoints[at]!, operation, isServed))));
    return { admits: able(true), fits: able(false) };
  }

  /** Returns the possible requests of each operation that a model of the catalog can serve in this environment. */
  #spacesServed(): readonly RequestSpace[] {
    const names = new Map(this.#drafts.map(({ model }) => [model.id, model.operations]));
    for (const { name, data } of this.#of(SELECTORS).named)
      names.set(name, data?.vector_space === undefined ? OTHER_BITS : VECTOR_BITS);
    return OPERATION_NAMES.flatMap((operation) => {
      const target = this.#endpoints.find((one) => canServe(one, operation, true));
      return target
        ? { operation, names, model: isConversation(operation) ? EMPTY_REQUEST.request.model : target.id }
        : [];
    });
  }

  /**
   * Reports a selector that chooses only from embedding models and names no vector space. A selector for embeddings without a vector space
   * would serve nothing.
   */
  #checkSpaces(selector: string, matched: ReadonlySet<string>, at: SourceSpan): void {
    const models = this.#drafts.filter(({ model }) => matched.has(model.id));
    if (models.length === 0 || models.some(({ model }) => (model.operations & OTHER_BITS) !== 0)) return;
    const spaces = [...new Set(models.flatMap(({ vectors }) => vectors?.embedding.vectorSpace ?? []))];
    const [first] = spaces;
    const message = `selector \`${selector}\` chooses only from embedding models but names no \`vector_space\``;
    const hint =
      spaces.length === 1
        ? `write \`vector_space: ${first}\``
        : `they belong to the vector spaces ${listNames(spaces)}, whose vectors cannot be compared: define a selector for each`;
    this.#report.add('vector-space-missing', at, message, { hint });
  }

  /**
   * Evaluates an expression. `#evaluate` returns the bits of the targets that match, and how many of the catalog and of the available
   * targets match.
   */
  *#evaluate(program: Program, targets: readonly RuleTarget[], size: number) {
    const bits = emptyBits(size);
    const failed = new Set<string>();
    const matched = new Set<string>();
    const admitted = new Set<RuleTarget>();
    let reason = '';
    let ofServed = 0;
    for (const [at, target] of targets.entries()) {
      const { id, view, slot, slots, isOpen } = target;
      if (at % EVALUATIONS_PER_STEP === 0) yield;
      const { value, failure } = tryRun(program, view);
      if (failure !== undefined && !isOpen) {
        failed.add(id);
        reason = failure;
      }
      if (value || (failure !== undefined && isOpen)) admitted.add(target);
      if (!value) continue;
      matched.add(id);
      if (slot < 0) continue;
      ofServed++;
      for (let at = slot; at < slot + slots; at++) setBit(bits, at);
    }
    if (failed.size > 0) {
      const message = `\`${program.draft.path}\` fails for ${listNames(failed)}, so it counts as false: ${reason}`;
      this.#report.add('require-fails', program.placeOf(program.ast), message);
    }
    return { bits, ofCatalog: admitted.size, ofServed, matched, admitted };
  }
}

/** Returns the providers of endpoints of the catalog that cannot serve in this environment. */
const unservedOf = (targets: Iterable<RuleTarget>): readonly string[] => [
  ...new Set([...targets].flatMap(({ isOpen, isServed, provider }) => (isOpen || isServed ? [] : provider))),
];

const NO_WILDCARDS: ModelRule['wildcards'] = new Map();

/**
 * Whether an endpoint of the catalog serves an operation. @param isServed whether the endpoint must also be available in this environment
 */
const canServe = (target: RuleTarget, operation: Operation, isServed: boolean): boolean =>
  !target.isOpen && (target.isServed || !isServed) && (target.operations & OPERATIONS[operation].bit) !== 0;

/** Returns the negated test for a region, such as `!("us" in endpoint.regions)`. */
const excludedRegion = (ast: ASTNode): ASTNode | undefined =>
  [...nodesOf(ast)].find(
    (node) => node.op === '!_' && node.args.op === 'in' && pathOf(node.args.args[1])?.join('.') === 'endpoint.regions',
  );

const conditionOf = (when: Program | null): Constraint['when'] => when && ((scope) => when.run(viewOf(scope)));
