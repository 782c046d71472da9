import type { PluginMaps } from '../contract/kinds.ts';
import { slotCount } from '../core/decision/readings.ts';
import { servesChats } from '../core/kinds/operations.ts';
import type { FoundModels } from '../core/policy/found-models.ts';
import { languageSupport } from '../core/policy/language-support.ts';
import type { PolicySnapshot, Selector } from '../core/policy/snapshot.ts';
import { dependsOnIntent } from './cel/intent.ts';
import { draftFound, judgeFound, withChoices } from './compiled/found.ts';
import { priceFound } from './compiled/found-prices.ts';
import { reviewImages } from './compiled/images.ts';
import { atMoment, type BuildMoment, buildMoment, type PricedAt } from './compiled/moment.ts';
import { reviewSmallBudgets } from './compiled/small-budgets.ts';
import { compileWildcards } from './compiled/wildcard-models.ts';
import type { Environment } from './define/environment.ts';
import type { Installation } from './define/installation.ts';
import { type AnySection, type DraftReader, draftsIn, resultsIn, type SectionContext } from './define/section.ts';
import { createChecker } from './expressions/expressions.ts';
import type { KnownLabels } from './expressions/misspelt-values.ts';
import { type Drafts, LANGUAGE, type Results } from './language.ts';
import {
  type Availability,
  environmentFacts,
  narrowCapabilities,
  reportNoProvider,
  selectAvailable,
} from './models/availability.ts';
import { BASELINE } from './models/baseline.ts';
import { MODELS } from './models/catalog.ts';
import { vectorsOf } from './models/embeddings.ts';
import { reviewFigure } from './models/figures.ts';
import type { ModelDraft } from './models/models.ts';
import type { PublicFigures } from './models/wildcard-names.ts';
import { servable, type WildcardDraft } from './models/wildcards.ts';
import type { ParsedPolicy } from './parse.ts';
import { TEAMS } from './people/people.ts';
import { type LoadedPlugin, PLUGINS, withOwnPlugins } from './providers/plugins.ts';
import { cachedTokensMin, PROVIDERS } from './providers/providers.ts';
import type { Diagnostic, DiagnosticCode } from './report/diagnostics.ts';
import { deepFreeze } from './report/freeze.ts';
import { Report } from './report/report.ts';
import { inSteps } from './report/steps.ts';
import { CONSTRAINTS } from './rules/constraints.ts';
import { PREFERENCES } from './rules/preferences.ts';
import { type CheckedRules, type CompiledRules, compileRules } from './rules/rules.ts';
import { camelKeys } from './schema/camel-keys.ts';
import { BUDGETS, compileBudget } from './sections/budgets.ts';
import { CREDITS } from './sections/credits.ts';
import { TASKS } from './sections/tasks.ts';
import { ALIAS_PATTERNS, UNSTATED_LANGUAGES } from './sections/values.ts';
import { compileAliases } from './selectors/aliases.ts';
import { withLadders } from './selectors/ladders.ts';
import { SELECTORS } from './selectors/selectors.ts';
import { allowedBySpace, checkSelectorSpaces } from './selectors/spaces.ts';

/** A compiled policy without its revision, and the effects of the environment on that revision. */
interface CompiledPolicy {
  readonly snapshot: Omit<PolicySnapshot, 'revision'>;
  readonly environment: readonly (readonly unknown[])[];
}

/** The environment in which a policy is compiled: installed plugins by name, environment variables and more. */
export interface LoadContext extends PluginMaps, Installation {
  /**
   * Hashes a text: the policy's files and the effects of the environment (providers whose variables are not set, active addresses). The
   * hashed text contains no secret.
   */
  revisionOf(content: string): string;
  readonly env: Environment;
  /**
   * Maps each specifier to the loaded plugins of the policy. Signalbox checks the option schemas of these plugins, and calls `prepare` once
   * as a test.
   */
  readonly plugins?: ReadonlyMap<string, LoadedPlugin>;
  /** Maps each specifier to the first file of the plugin's code outside the policy folder, relative to that folder. */
  readonly outside?: ReadonlyMap<string, string>;
  /** Whether only figures of models that can serve in this environment are reviewed. */
  readonly onlyServing?: boolean;
  /** Public figures of models, for policies with wildcards. Without public figures, no model of a wildcard has figures. */
  readonly facts?: PublicFigures | null;
  /** The models that were found at servers of the operator. Without `found`, the policy serves only what it declares. */
  readonly found?: FoundModels | null;
  /** The moment whose prices apply. Without it, each price is as the policy states it first: without hours, and before its end. */
  readonly pricedAt?: PricedAt | null;
  /** Labels of the existing keys. Without `labels`, only the labels in the policy's test cases are known. */
  readonly labels?: KnownLabels;
}

export interface LoadResult {
  /** The compiled policy; null if it has errors. */
  readonly snapshot: PolicySnapshot | null;
  /** All problems of the policy. If the policy has no errors, `diagnostics` contains only warnings. */
  readonly diagnostics: readonly Diagnostic[];
}

const SEEM_MISSING: ReadonlySet<DiagnosticCode> = new Set([
  'unknown-reference',
  'no-models',
  'credits-changed',
  'budget-renamed',
]);

/**
 * Runs the second half of `loadPolicy` in steps, each well under 5 ms, so that a server can answer requests between them. `compileSteps`
 * yields nothing and returns the result.
 */
export function* compileSteps(parsed: ParsedPolicy, context: LoadContext): Generator<undefined, LoadResult> {
  const report = new Report(parsed.diagnostics);
  const compiled = yield* compile(parsed, context, report);
  // The part that seems to be missing may be in a file that could not be read.
  const diagnostics = report.sorted().filter((found) => !(parsed.isPartial && SEEM_MISSING.has(found.code)));
  if (!compiled || report.failed) return { snapshot: null, diagnostics };
  yield;
  const texts = parsed.files.map((file) => file.text);
  const revision = context.revisionOf(JSON.stringify([texts, compiled.environment]));
  return { snapshot: deepFreeze({ revision, ...compiled.snapshot }), diagnostics };
}

/**
 * Checks the parts that need plugins, expressions and the environment, and compiles them. `compile` returns null if anything in the policy
 * is wrong.
 */
function* compile(
  parsed: ParsedPolicy,
  context: LoadContext,
  report: Report,
): Generator<undefined, CompiledPolicy | null> {
  const { env, plugins: loaded, outside, today, onlyServing = false, facts = null, found = null } = context;
  const { labels = NO_LABELS, teams = null, pricedAt = null } = context;
  const stated = draftsIn(parsed.drafts);
  const plugins = withOwnPlugins(stated(PLUGINS), context, { loaded, outside }, report);
  const check = createChecker({ files: parsed.files, of: stated, labels, teams, facts }, report);
  const own = yield* compileSections({ check, env, plugins, installation: context, report, of: stated });
  const made = resultsIn(own);
  const setups = made(PROVIDERS);
  const serving = new Map([...setups].filter(([, { unset }]) => unset.length === 0));
  const moment = pricedAt === null ? null : buildMoment(stated, pricedAt, { facts, serving });
  const of = draftsIn(withPrices(parsed.drafts, moment));
  const { drafts: declared, wildcards: openNames, isSound } = of(MODELS);
  const prices = priceFound({ of, setups, found }, report);
  const programs = {
    constraints: made(CONSTRAINTS),
    preferences: made(PREFERENCES),
    filters: made(SELECTORS).filters,
  };
  if (today !== undefined) {
    if (!onlyServing) reviewFigures({ models: declared, wildcards: openNames }, { today, facts }, report);
    check.teams.review();
  }
  // `compile` checks whether anything can be served only if the policy is otherwise valid.
  if (report.failed) {
    if (isSound) yield* evaluateSoundRules({ of, drafts: declared }, programs, report);
    return null;
  }
  const drafts = yield* narrowCapabilities(declared, setups, report);
  const discovered = draftFound(found, { of, start: parsed.start, setups, prices });
  const finds = yield* narrowCapabilities(atMoment(discovered.drafts, moment), setups, report);
  const all = selectAvailable(setups, [...drafts, ...finds], openNames, found?.used);
  const models = withChoices(all.models, found, setups);
  const available = { ...all, models, leftOut: [...all.leftOut, ...discovered.leftOut] };
  const wildcards = compileWildcards({
    ...{ of, rules: programs, setups, prices, serving: available.providers, facts },
    ...{ firstSlot: slotCount(models), moment },
  });
  const mayFind = available.providers.values().some(({ discover }) => discover !== undefined);
  const hasNone = models.length === 0 && !wildcards?.patterns.length && !mayFind;
  if (hasNone) reportNoProvider(setups, of(PROVIDERS).place, report);
  if (today !== undefined) reviewImages(models, of, report);
  checkSelectorSpaces(of(SELECTORS).named, vectorsOf(declared), models, report);
  yield;
  const rules = yield* compileRules({ of, drafts }, programs, available, report);
  judgeFound(models, finds, rules, programs, of(TASKS));
  const selectors = made(SELECTORS).drafts.map((one) => ({
    ...one,
    allows: allowedBySpace(one.vectorSpace, rules.filters.get(one.name) ?? null, models),
  }));
  if (today !== undefined) {
    const served = servingIn({ models: declared, wildcards: openNames }, available.providers);
    if (onlyServing) reviewFigures(served, { today, facts }, report);
    const allowed = new Map(selectors.map(({ name, allows }) => [name, allows]));
    const constraints = rules.constraints.map((one, at) => ({ ...one, when: programs.constraints[at]?.when ?? null }));
    const usable = { served: models, constraints, selectors: allowed };
    reviewSmallBudgets(declared, Number(of(CREDITS).usd), made(BUDGETS), usable, report);
  }
  if (report.failed) return null;
  yield* inSteps(models, deepFreeze);
  const unordered = assembleSnapshot(camelKeys(own), of, {
    ...{ available, rules, selectors, wildcards, found },
    prices: moment?.prices ?? null,
  });
  const teamIds = check.teams.ids;
  const inputs = { selectors: of(SELECTORS).named, strategies: plugins.strategies };
  const snapshot = yield* withLadders({ ...unordered, teamIds }, inputs, report);
  if (report.failed) return null;
  const environment = [...environmentFacts(setups), ...figuresIn(snapshot, facts)];
  return { snapshot: deepFreeze(snapshot), environment };
}

/** Compiles every section, in the order of the language. */
function* compileSections(context: Omit<SectionContext, 'made'>): Generator<undefined, Results> {
  const results: Record<string, unknown> = {};
  const whole: SectionContext = { ...context, made: resultsIn(results) };
  for (const section of LANGUAGE as readonly AnySection[]) {
    const draft = context.of(section);
    section.review?.(draft, whole);
    if (section.compile) results[section.name] = yield* section.compile(draft, whole);
  }
  return results as Results;
}

/** Returns the drafts with the prices of a moment; the same drafts for no moment. */
function withPrices(drafts: Drafts, moment: BuildMoment | null): Drafts {
  if (moment === null) return drafts;
  const { models } = drafts;
  const wildcards = models.wildcards.map((one) => ({ ...one, standIn: atMoment([one.standIn], moment)[0]! }));
  return { ...drafts, models: { ...models, drafts: atMoment(models.drafts, moment), wildcards } };
}

const figuresIn = ({ wildcards }: Pick<PolicySnapshot, 'wildcards'>, facts: PublicFigures | null) =>
  wildcards?.patterns.length && facts ? [['facts', facts.source]] : [];

const NO_LABELS: KnownLabels = new Map();

/** The models that can be served, with the effects of the policy's rules on them. */
interface ServedParts extends Pick<PolicySnapshot, 'wildcards' | 'found' | 'prices'> {
  readonly available: Availability;
  readonly rules: CompiledRules;
  readonly selectors: readonly Selector[];
}

/** Adds to the results of the sections what depends on the models that can be served, and the indexes of the snapshot. */
function assembleSnapshot(
  own: ReturnType<typeof camelKeys<Results>>,
  of: DraftReader,
  { available: { providers, models, leftOut }, rules, selectors, ...parts }: ServedParts,
) {
  const { tasks, budgets, rateLimits } = own;
  const { constraints, preferences, readIntent } = rules;
  const modelIndex = new Map(models.map((model, index) => [model.id, index]));
  const taskIndex = new Map(tasks.map((task, index) => [task.name, index]));
  const baseline = of(BASELINE);
  return {
    ...own,
    usdPerCredit: of(CREDITS).usd,
    budgets: budgets.map(compileBudget),
    providers,
    models,
    leftOut,
    ...parts,
    selectors: new Map(selectors.map((selector) => [selector.name, selector])),
    constraints,
    preferences,
    baseline: baseline === null ? null : (modelIndex.get(baseline) ?? null),
    ...compileAliases(of(SELECTORS), modelIndex),
    patternsCoverKnown: of(ALIAS_PATTERNS) === 'all_names',
    languages: languageSupport(models, of(UNSTATED_LANGUAGES) === 'admit'),
    modelIndex,
    taskIndex,
    teamPlaces: new Map(of(TEAMS).map(({ name, place }) => [name, place])),
    usefulOutputMax: Math.max(...tasks.map(({ minUsefulOutput }) => minUsefulOutput)),
    maxOutputMin: Math.min(...models.filter(servesChats).map(({ maxOutput }) => maxOutput)),
    totalMsMax: Math.max(0, ...[...models, ...(parts.wildcards?.patterns ?? [])].map((one) => one.deadlines.totalMs)),
    cachedTokensMin: cachedTokensMin(providers.values()),
    countsAddresses: rateLimits.some(({ each }) => each === 'address'),
    namedModelsReadIntent: readIntent || dependsOnIntent({ constraints, taskIndex, rateLimits }),
  };
}

function review({ figures, misspeltLanguages }: ModelDraft, today: string, report: Report): void {
  for (const figure of figures) reviewFigure(figure, today, report);
  for (const { place, message, hint } of misspeltLanguages) report.add('unknown-language', place, message, { hint });
}

interface Figured {
  readonly models: readonly ModelDraft[];
  readonly wildcards: readonly WildcardDraft[];
}

/**
 * Reports the warnings about figures that only `policy check`, the checks of an installation and a release show.
 * @param today such as `2026-11-28`
 */
export function reviewFigures(
  parsed: Figured,
  { today, facts }: { today: string; facts: PublicFigures | null },
  report: Report,
) {
  for (const model of servable(parsed)) review(model, today, report);
  if (facts) reviewPublicFigures(parsed, facts, today, report);
}

/** Returns the models and wildcards that have an endpoint at a serving provider. */
function servingIn({ models, wildcards }: Figured, providers: ReadonlyMap<string, unknown>): Figured {
  const serves = ({ endpoints }: ModelDraft) => endpoints.some(({ endpoint }) => providers.has(endpoint.provider));
  return { models: models.filter(serves), wildcards: wildcards.filter(({ standIn }) => serves(standIn)) };
}

/** Warns once if the public figures that the policy's wildcards use are old. */
function reviewPublicFigures({ wildcards }: Figured, facts: PublicFigures, today: string, report: Report): void {
  const dated = wildcards.flatMap(({ service, place }) => {
    const asOf = service === null ? null : facts.oldestOf(service);
    return asOf === null ? [] : [{ place, asOf }];
  });
  const oldest = dated.sort((a, b) => (a.asOf < b.asOf ? -1 : 1))[0];
  if (!oldest) return;
  const hint = 'upgrade Signalbox, or state the prices that you rely on in `models`';
  const figure = { path: `public table ${facts.source}`, ...oldest, isVerified: true, expected: '', hint };
  reviewFigure(figure, today, report);
}

const NOTHING_SERVED = { models: [], providers: new Map() };

/** Evaluates the valid rules of a policy that has errors elsewhere, so that all problems are reported at once. */
function evaluateSoundRules(catalog: Parameters<typeof compileRules>[0], programs: CheckedRules, report: Report) {
  const isWhole = ({ draft }: { readonly draft: { readonly isWhole: boolean } }) => draft.isWhole;
  const constraints = programs.constraints.filter(isWhole);
  const preferences = programs.preferences.filter(isWhole);
  return compileRules(catalog, { ...programs, constraints, preferences }, NOTHING_SERVED, report);
}
