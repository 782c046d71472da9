import type { PluginMaps } from '../contract/kinds.ts';
import { slotCount } from '../core/decision/readings.ts';
import { servesChats } from '../core/kinds/operations.ts';
import type { LedgerState } from '../core/money/budget.ts';
import type { TeamNames } from '../core/people/people.ts';
import type { FoundModels } from '../core/policy/found-models.ts';
import { languageSupport } from '../core/policy/language-support.ts';
import type { GatewayPolicy, PolicySnapshot, Selector } from '../core/policy/snapshot.ts';
import { dependsOnIntent } from './cel/intent.ts';
import { draftFound, judgeFound, withChoices } from './compiled/found.ts';
import { priceFound } from './compiled/found-prices.ts';
import { reviewImages } from './compiled/images.ts';
import { atMoment, type BuildMoment, buildMoment, type PricedAt } from './compiled/moment.ts';
import { reviewSmallBudgets } from './compiled/small-budgets.ts';
import { compileWildcards } from './compiled/wildcard-models.ts';
import { createChecker } from './expressions/expressions.ts';
import type { KnownLabels } from './expressions/misspelt-values.ts';
import { checkLedgerState } from './ledger-state.ts';
import {
  type Availability,
  environmentFacts,
  narrowCapabilities,
  reportNoProvider,
  selectAvailable,
} from './models/availability.ts';
import { allowedBySpace, checkSelectorSpaces } from './models/embeddings.ts';
import { reviewFigure } from './models/figures.ts';
import { checkAdapters } from './models/operations.ts';
import type { PublicFigures } from './models/wildcard-names.ts';
import { servable } from './models/wildcards.ts';
import { compileAliases } from './parsed/aliases.ts';
import { withLadders } from './parsed/ladders.ts';
import type { ParsedPolicy, PolicySettings } from './parsed/parsed.ts';
import { compileSections } from './parsed/sections.ts';
import { compileSelectors } from './parsed/selectors.ts';
import { reviewTeams } from './people/people.ts';
import { reviewReplacedTeams } from './people/team-renames.ts';
import { type LoadedPlugin, withOwnPlugins } from './providers/plugins.ts';
import { cachedTokensMin, compileProvider, type Environment } from './providers/providers.ts';
import type { Diagnostic, DiagnosticCode } from './report/diagnostics.ts';
import { deepFreeze } from './report/freeze.ts';
import { Report } from './report/report.ts';
import { inSteps } from './report/steps.ts';
import { type CheckedRules, type CompiledRules, checkRules, compileRules } from './rules/rules.ts';
import { checkLimit, compileBudget } from './sections/limits.ts';

/** A compiled policy without its revision, and the effects of the environment on that revision. */
interface CompiledPolicy {
  readonly snapshot: Omit<PolicySnapshot, 'revision'>;
  readonly environment: readonly (readonly unknown[])[];
}

/** Settings that a server reads when it starts and keeps until it ends. */
export type StartSettings = Pick<GatewayPolicy, 'socketBytesMax'>;

/** The environment in which a policy is compiled: installed plugins by name, environment variables and more. */
export interface LoadContext extends PluginMaps {
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
  /** The current day, such as `2026-10-07`. The current day turns on warnings about old or unverified figures and misspelt languages. */
  readonly today?: string;
  /** Whether only figures of models that can serve in this environment are reviewed. */
  readonly onlyServing?: boolean;
  /** Public figures of models, for policies with wildcards. Without public figures, no model of a wildcard has figures. */
  readonly facts?: PublicFigures | null;
  /** The models that were found at servers of the operator. Without `found`, the policy serves only what it declares. */
  readonly found?: FoundModels | null;
  /** The moment whose prices apply. Without it, each price is as the policy states it first: without hours, and before its end. */
  readonly pricedAt?: PricedAt | null;
  /** The existing ledger. If `ledger` is given, the policy must be compatible with the ledger. */
  readonly ledger?: LedgerState;
  /** Labels of the existing keys. Without `labels`, only the labels in the policy's test cases are known. */
  readonly labels?: KnownLabels;
  /**
   * The teams in the store. The policy can name these teams, and must not declare a team that the API manages. `teams` is null if the teams
   * in the store are not known.
   */
  readonly teams?: TeamNames | null;
  /** IDs of the teams with active keys. Without `teamsWithKeys`, Signalbox does not warn about teams that the policy no longer declares. */
  readonly teamsWithKeys?: ReadonlySet<string>;
  /** The settings that the running server keeps. If `started` is given, a policy with other values gets a warning. */
  readonly started?: StartSettings;
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
  stated: ParsedPolicy,
  {
    env,
    plugins,
    outside,
    today,
    onlyServing = false,
    facts = null,
    found = null,
    pricedAt = null,
    ledger,
    labels,
    teams = null,
    teamsWithKeys,
    started,
    ...installed
  }: LoadContext,
  report: Report,
): Generator<undefined, CompiledPolicy | null> {
  const plugged = withOwnPlugins(stated.plugins, installed, { loaded: plugins, outside }, report);
  const { settings, credit } = stated;
  const scope = { env, report, providers: plugged.providers, isReviewed: today !== undefined };
  const setups = yield* inSteps(stated.providers, (one) => compileProvider(one, scope));
  const states = new Map(setups.map((setup) => [setup.name, setup]));
  const serving = new Map(setups.filter(({ unset }) => unset.length === 0).map((setup) => [setup.name, setup]));
  const moment = pricedAt === null ? null : buildMoment(stated, pricedAt, { facts, serving });
  const parsed = withPrices(stated, moment);
  const prices = priceFound({ parsed, setups: states, found }, report);
  const { strategies } = plugged;
  const selectors = yield* compileSelectors(parsed.selectors, strategies, report);
  checkAdapters(parsed.models, states, report);
  const vectors = parsed.models.flatMap(({ vectors }) => vectors ?? []);
  if (parsed.hasSoundModels) checkSelectorSpaces(parsed.selectors, vectors, null, report);
  yield;
  const check = createChecker(parsed, { labels: labels ?? NO_LABELS, teams, facts }, report);
  const programs = yield* checkRules(parsed, check, report);
  const budgets = yield* inSteps(parsed.budgets, (one) => checkLimit(one, 'budget', check, report));
  const own = yield* compileSections(parsed.own, { check, env, guards: plugged.guards, report });
  yield* inSteps(parsed.sentNames, (one) => check.sent(one));
  check.metered(parsed.meteredLabel);
  checkState(parsed, { ledger, teams, started }, report);
  if (today !== undefined) {
    if (!onlyServing) reviewFigures(parsed, { today, facts }, report);
    check.teams.review();
    if (teams && teamsWithKeys) reviewReplacedTeams(parsed.people.teams, teams, teamsWithKeys, report);
  }
  // `compile` checks whether anything can be served only if the policy is otherwise valid.
  if (report.failed || !settings || !credit) {
    if (parsed.hasSoundModels) yield* evaluateSoundRules(parsed, programs, report);
    return null;
  }
  const drafts = yield* narrowCapabilities(parsed.models, states, report);
  const discovered = draftFound(found, { parsed, setups: states, prices, usdPerCredit: credit.usd });
  const finds = yield* narrowCapabilities(atMoment(discovered.drafts, moment), states, report);
  const all = selectAvailable(states, [...drafts, ...finds], parsed.wildcards, found?.used);
  const models = withChoices(all.models, found, states);
  const available = { ...all, models, leftOut: [...all.leftOut, ...discovered.leftOut] };
  const wildcards = compileWildcards(parsed.wildcards, {
    ...{ parsed, rules: programs, setups: states, prices, serving: available.providers, facts },
    ...{ usdPerCredit: credit.usd, firstSlot: slotCount(models), moment },
  });
  const mayFind = available.providers.values().some(({ discover }) => discover !== undefined);
  const hasNone = models.length === 0 && !wildcards?.patterns.length && !mayFind;
  if (hasNone) reportNoProvider(states, parsed.providersPlace, report);
  if (today !== undefined) reviewImages(models, parsed, report);
  checkSelectorSpaces(parsed.selectors, vectors, models, report);
  yield;
  const rules = yield* compileRules({ ...parsed, models: drafts }, programs, available, report);
  judgeFound(models, finds, rules, programs, parsed);
  const filtered = selectors.map((one) => ({
    ...one,
    allows: allowedBySpace(one.vectorSpace, rules.filters.get(one.name) ?? null, models),
  }));
  if (today !== undefined) {
    if (onlyServing) reviewFigures(servingIn(parsed, available.providers), { today, facts }, report);
    const allowed = new Map(filtered.map(({ name, allows }) => [name, allows]));
    const constraints = rules.constraints.map((one, at) => ({ ...one, when: programs.constraints[at]?.when ?? null }));
    reviewSmallBudgets(parsed, budgets, { served: models, constraints, selectors: allowed }, report);
  }
  if (report.failed) return null;
  yield* inSteps(models, deepFreeze);
  const unordered = assembleSnapshot(parsed, settings, credit.usd, available, {
    rules,
    wildcards,
    found,
    prices: moment?.prices ?? null,
    ...own,
    selectors: filtered,
    budgets: budgets.map(compileBudget),
    teamIds: check.teams.ids,
  });
  const snapshot = yield* withLadders(unordered, { selectors: parsed.selectors, strategies }, report);
  if (report.failed) return null;
  const environment = [...environmentFacts(states), ...figuresIn(snapshot, facts)];
  return { snapshot: deepFreeze(snapshot), environment };
}

/** Returns a policy with the prices of a moment; the same policy for no moment. */
function withPrices(parsed: ParsedPolicy, moment: BuildMoment | null): ParsedPolicy {
  if (moment === null) return parsed;
  const wildcards = parsed.wildcards.map((one) => ({ ...one, standIn: atMoment([one.standIn], moment)[0]! }));
  return { ...parsed, models: atMoment(parsed.models, moment), wildcards };
}

const figuresIn = ({ wildcards }: Pick<PolicySnapshot, 'wildcards'>, facts: PublicFigures | null) =>
  wildcards?.patterns.length && facts ? [['facts', facts.source]] : [];

const NO_LABELS: KnownLabels = new Map();

/** The parts of a snapshot that are compiled from expressions and plugins. */
type SnapshotParts = OwnParts &
  Pick<PolicySnapshot, 'budgets' | 'wildcards' | 'found' | 'prices' | 'teamIds'> & {
    readonly rules: CompiledRules;
    readonly selectors: readonly Selector[];
  };

/** The parts of a snapshot from sections that have a definition of their own. */
type OwnParts = ReturnType<typeof compileSections> extends Generator<undefined, infer Parts> ? Parts : never;

function assembleSnapshot(
  { tasks, traffic, cases, people, publicUrl, ...parsed }: ParsedPolicy,
  { baseline, admitUnstated, ...figures }: PolicySettings,
  usdPerCredit: string,
  { providers, models, leftOut }: Availability,
  { rules: { constraints, preferences, readIntent }, selectors, ...parts }: SnapshotParts,
): CompiledPolicy['snapshot'] {
  const modelIndex = new Map(models.map((model, index) => [model.id, index]));
  const taskIndex = new Map(tasks.map((task, index) => [task.name, index]));
  return {
    ...figures,
    ...parts,
    usdPerCredit,
    tasks,
    traffic,
    taskIndex,
    usefulOutputMax: Math.max(...tasks.map(({ minUsefulOutput }) => minUsefulOutput)),
    maxOutputMin: Math.min(...models.filter(servesChats).map(({ maxOutput }) => maxOutput)),
    totalMsMax: Math.max(0, ...[...models, ...(parts.wildcards?.patterns ?? [])].map((one) => one.deadlines.totalMs)),
    providers,
    cachedTokensMin: cachedTokensMin(providers.values()),
    models,
    modelIndex,
    selectors: new Map(selectors.map((selector) => [selector.name, selector])),
    ...compileAliases(parsed, modelIndex),
    languages: languageSupport(models, admitUnstated),
    baseline: baseline === null ? null : (modelIndex.get(baseline) ?? null),
    constraints,
    preferences,
    countsAddresses: parts.rateLimits.some(({ each }) => each === 'address'),
    namedModelsReadIntent: readIntent || dependsOnIntent({ constraints, taskIndex, ...parts }),
    publicUrl,
    organization: people.organization,
    teams: people.teams.map(({ place: _, ...team }) => team),
    teamPlaces: new Map(people.teams.map(({ name, place }) => [name, place])),
    cases,
    leftOut,
  };
}

/** Reports what does not fit the stored state or the running server, as far as they are known. */
function checkState(
  parsed: ParsedPolicy,
  { ledger, teams, started }: Pick<LoadContext, 'ledger' | 'teams' | 'started'>,
  report: Report,
): void {
  if (ledger) checkLedgerState(parsed, ledger, report);
  if (teams) reviewTeams(parsed.people, teams, report);
  if (started) reviewStart(parsed, started, report);
}

/** Warns about a changed setting that applies only after a restart. */
function reviewStart({ own, socketBytesPlace }: ParsedPolicy, { socketBytesMax }: StartSettings, report: Report) {
  const wanted = own.gateway.socketBytesMax;
  if (wanted === socketBytesMax) return;
  const message = `\`gateway.socket_bytes_max\` is ${wanted}, but the running server uses ${socketBytesMax}, the value from its start`;
  report.add('needs-restart', socketBytesPlace, message, { hint: 'restart the server to apply the change' });
}

function review({ figures, misspeltLanguages }: ParsedPolicy['models'][number], today: string, report: Report): void {
  for (const figure of figures) reviewFigure(figure, today, report);
  for (const { place, message, hint } of misspeltLanguages) report.add('unknown-language', place, message, { hint });
}

type Figured = Pick<ParsedPolicy, 'models' | 'wildcards'>;

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
  const serves = ({ endpoints }: ParsedPolicy['models'][number]) =>
    endpoints.some(({ endpoint }) => providers.has(endpoint.provider));
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
function evaluateSoundRules(parsed: ParsedPolicy, programs: CheckedRules, report: Report) {
  const isWhole = ({ draft }: { readonly draft: { readonly isWhole: boolean } }) => draft.isWhole;
  const constraints = programs.constraints.filter(isWhole);
  const preferences = programs.preferences.filter(isWhole);
  return compileRules(parsed, { ...programs, constraints, preferences }, NOTHING_SERVED, report);
}
