import { capabilityNames, OF_EVERY_DIALECT } from '../core/capability.ts';
import { type Constraint, emptyBits, type Preference, setBit } from '../core/rules.ts';
import type { Model } from '../core/snapshot.ts';
import { literalOf } from './cel-ast.ts';
import type { Program } from './cel-check.ts';
import { hintForTags } from './cel-references.ts';
import { modelViews, viewOf } from './cel-types.ts';
import { type ExpressionChecker, reasonOf } from './expressions.ts';
import { listNames } from './nearest.ts';
import type { ParsedPolicy } from './parsed.ts';
import type { Report } from './report.ts';
import { type ConstraintDraft, expressionAt, type PreferenceDraft } from './rule-drafts.ts';

interface CheckedConstraint {
  readonly draft: ConstraintDraft;
  readonly when: Program | null;
  readonly require: Program | null;
}

interface CheckedPreference {
  readonly draft: PreferenceDraft;
  readonly when: Program | null;
  readonly prefer: Program | null;
}

interface CheckedFilter {
  readonly selector: string;
  readonly require: Program;
}

/** The rules of a policy with their checked expressions; null for an expression that is absent or wrong. */
export interface CheckedRules {
  readonly constraints: readonly CheckedConstraint[];
  readonly preferences: readonly CheckedPreference[];
  readonly filters: readonly CheckedFilter[];
}

/** Checks every expression of the rules and selectors. */
export function* checkRules(
  parsed: ParsedPolicy,
  check: ExpressionChecker,
  report: Report,
): Generator<undefined, CheckedRules> {
  const constraints: CheckedConstraint[] = [];
  for (const draft of parsed.constraints) {
    constraints.push({ draft, when: check.when(draft.when), require: check.of(draft.require, 'constraint') });
    yield;
  }
  const preferences: CheckedPreference[] = [];
  for (const draft of parsed.preferences) {
    preferences.push({ draft, when: check.when(draft.when), prefer: check.of(draft.prefer, 'model') });
    if (draft.worth === 0) {
      const message = `preference \`${draft.name}\` has a worth of 0, so it has no effect`;
      report.add('prefers-none', draft.worthPlace, message, { hint: 'remove it, or set `worth` to another value' });
    }
    yield;
  }
  const filters: CheckedFilter[] = [];
  for (const named of parsed.selectors) {
    const require = check.of(expressionAt(named, 'models', 'require'), 'model');
    if (require) filters.push({ selector: named.name, require });
    yield;
  }
  return { constraints, preferences, filters };
}

/** The compiled rules of a policy. */
export interface CompiledRules {
  readonly constraints: readonly Constraint[];
  readonly preferences: readonly Preference[];
  /** Selector → bits by index of the model. */
  readonly filters: ReadonlyMap<string, Uint32Array>;
}

/** A model or endpoint of the catalog that a rule is evaluated on. */
interface RuleTarget {
  readonly id: string;
  readonly view: Readonly<Record<string, unknown>>;
  /** Its bit; -1 if it cannot be served here. */
  readonly slot: number;
}

/** Models turned into views in one step. */
const VIEWS_PER_STEP = 50;
/** Evaluations of an expression in one step: the costliest takes about 4 ms for them. */
const EVALUATIONS_PER_STEP = 16;

/** Evaluates every rule over the whole catalog, and keeps the bits of models and endpoints that can be served here. */
export function* compileRules(
  parsed: ParsedPolicy,
  { constraints, preferences, filters }: CheckedRules,
  served: readonly Model[],
  report: Report,
): Generator<undefined, CompiledRules> {
  const { endpoints, models } = yield* ruleTargetsOf(parsed, served);
  const slots = served.reduce((sum, model) => sum + model.endpoints.length, 0);
  const compiled: { constraints: Constraint[]; preferences: Preference[] } = { constraints: [], preferences: [] };
  for (const constraint of constraints) {
    compiled.constraints.push(yield* compileConstraint(constraint, endpoints, slots, report));
    yield;
  }
  for (const preference of preferences) {
    compiled.preferences.push(yield* compilePreference(preference, models, served.length, report));
    yield;
  }
  const tags = [...new Set(parsed.models.flatMap(({ model }) => model.tags))];
  const bits = new Map<string, Uint32Array>();
  for (const filter of filters) {
    bits.set(filter.selector, yield* compileFilter(filter, models, served.length, report, tags));
    yield;
  }
  return { ...compiled, filters: bits };
}

function* ruleTargetsOf(
  parsed: ParsedPolicy,
  served: readonly Model[],
): Generator<undefined, { endpoints: readonly RuleTarget[]; models: readonly RuleTarget[] }> {
  const tasks = parsed.tasks.map(({ name }) => name);
  const indexes = new Map(served.map((model, index) => [model.id, index]));
  const endpoints: RuleTarget[] = [];
  const models: RuleTarget[] = [];
  for (const [at, draft] of parsed.models.entries()) {
    const { id } = draft.model;
    const index = indexes.get(id) ?? -1;
    const model = served[index];
    const views = modelViews(draft, capabilityNames(draft.model.capabilities & ~OF_EVERY_DIALECT), tasks);
    for (const [i, { endpoint }] of draft.endpoints.entries()) {
      const place = model ? model.endpoints.indexOf(endpoint) : -1;
      const view = views[i] ?? {};
      endpoints.push({ id, view, slot: model && place >= 0 ? model.firstSlot + place : -1 });
      if (i === 0) models.push({ id, view, slot: index });
    }
    if (at % VIEWS_PER_STEP === 0) yield;
  }
  return { endpoints, models };
}

interface RuleMatches {
  readonly bits: Uint32Array;
  /** How many of the catalog match, and how many of those can be served here. */
  readonly ofCatalog: number;
  readonly ofServed: number;
}

function* evaluate(
  program: Program,
  targets: readonly RuleTarget[],
  size: number,
  report: Report,
): Generator<undefined, RuleMatches> {
  const bits = emptyBits(size);
  const failed = new Set<string>();
  let reason = '';
  let ofCatalog = 0;
  let ofServed = 0;
  let evaluated = 0;
  for (const { id, view, slot } of targets) {
    if (evaluated++ % EVALUATIONS_PER_STEP === 0) yield;
    try {
      if (!program.run(view)) continue;
    } catch (error) {
      failed.add(id);
      reason = reasonOf(error);
      continue;
    }
    ofCatalog++;
    if (slot < 0) continue;
    ofServed++;
    setBit(bits, slot);
  }
  if (failed.size > 0) {
    const message = `\`${program.draft.path}\` fails for ${listNames(failed)}, so it counts as false: ${reason}`;
    report.add('require-fails', program.placeOf(program.ast), message);
  }
  return { bits, ofCatalog, ofServed };
}

function conditionOf(when: Program | null): Constraint['when'] {
  return when && ((scope) => when.run(viewOf(scope)));
}

function* compileConstraint(
  { draft, when, require }: CheckedConstraint,
  endpoints: readonly RuleTarget[],
  slots: number,
  report: Report,
): Generator<undefined, Constraint> {
  const { name, place, maxLatencyMs, maxCostCredits } = draft;
  const matches = require && (yield* evaluate(require, endpoints, slots, report));
  // `require: false` refuses on purpose.
  if (require && matches?.ofCatalog === 0 && !(draft.when && literalOf(require.ast) === false)) {
    const at = require.placeOf(require.ast);
    const message = `no model of the catalog fulfils \`${require.draft.path}\``;
    if (draft.when)
      report.add('satisfied-by-none', at, message, { hint: 'requests that this constraint applies to are refused' });
    else
      report.add('refuses-everything', at, message, {
        hint: 'a constraint without `when` applies to every request, so all would be refused',
      });
  }
  return { name, place, when: conditionOf(when), allows: matches?.bits ?? null, maxLatencyMs, maxCostCredits };
}

function* compilePreference(
  { draft, when, prefer }: CheckedPreference,
  models: readonly RuleTarget[],
  size: number,
  report: Report,
): Generator<undefined, Preference> {
  const { name, place } = draft;
  const matches = prefer && (yield* evaluate(prefer, models, size, report));
  if (prefer && matches?.ofCatalog === 0) {
    report.add('prefers-none', prefer.placeOf(prefer.ast), `\`${prefer.draft.path}\` prefers no model of the catalog`);
  }
  return { name, place, when: conditionOf(when), prefers: matches?.bits ?? emptyBits(size), worth: draft.worth ?? 0 };
}

function* compileFilter(
  { selector, require }: CheckedFilter,
  models: readonly RuleTarget[],
  size: number,
  report: Report,
  tags: readonly string[],
): Generator<undefined, Uint32Array> {
  const { bits, ofCatalog, ofServed } = yield* evaluate(require, models, size, report);
  const at = () => require.placeOf(require.ast);
  if (ofCatalog === 0) {
    const message = `selector \`${selector}\` has no candidates: no model passes its filter`;
    report.add('selector-empty', at(), message, { hint: hintForTags(require.ast, tags) });
  } else if (ofServed === 0 && size > 0) {
    const message = `selector \`${selector}\` has no candidates here: no provider can serve a model that passes its filter`;
    report.add('selector-idle', at(), message, { hint: 'set the variable of a provider that serves such a model' });
  }
  return bits;
}
