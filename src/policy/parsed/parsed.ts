import { type Decimal, plainText } from '../../core/money/decimal.ts';
import { isTimeZone } from '../../core/time/zoned-time.ts';
import type { ConvertedAmount } from '../check/amounts.ts';
import { type CaseNames, draftCases } from '../check/cases.ts';
import { checkValue } from '../check/check.ts';
import { draftConstraints, draftPreferences } from '../check/rule-drafts.ts';
import { findSecrets } from '../check/secrets.ts';
import {
  type CheckContext,
  checkNamed,
  checkSection,
  type NamedItem,
  sectionSubject,
  statedSubject,
} from '../check/section-checks.ts';
import { draftBudgets } from '../limits/drafts.ts';
import { draftContracts } from '../models/contracts.ts';
import { checkFallbacks, reviewFallbacks } from '../models/fallbacks.ts';
import { draftModels, type ModelDraft } from '../models/models.ts';
import { compileTasks } from '../models/tasks.ts';
import { draftTraffic } from '../models/traffic.ts';
import { openNames } from '../models/wildcard-names.ts';
import { draftWildcards, type WildcardDraft } from '../models/wildcards.ts';
import { draftPeople, type ModelNames } from '../people/people.ts';
import { openingsOf } from '../providers/discover.ts';
import { statesKey } from '../providers/key-pool.ts';
import { draftPlugins } from '../providers/plugins.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import { Report } from '../report/report.ts';
import { camelKeys } from '../schema/camel-keys.ts';
import { ProviderText } from '../schema/policy.ts';
import { decimalAt } from '../schema/prices.ts';
import { readPublicUrl } from '../sections/sign-in.ts';
import { type PolicyFile, parseFile, type YamlReader } from '../yaml/parse.ts';
import { placeAt, toData, valueAt } from '../yaml/tree.ts';
import { type AliasDraft, agentAliases, draftAliases } from './aliases.ts';
import { checkTiers } from './ladders.ts';
import { mergeFiles } from './merge.ts';
import { draftSections, readValues, SECTIONS } from './sections.ts';
import { draftSelectors } from './selectors.ts';

/**
 * A policy after all checks that need no plugins, expressions or environment. A parsed policy is plain data, so a worker can send it by
 * structured clone.
 */
export type ParsedPolicy = Readonly<ReturnType<typeof parseWith>>;

/** The sections that are not lists or maps of named items. */
export type PolicySettings = NonNullable<ParsedPolicy['settings']>;

/** Reads and checks the files of a policy, in any order. `parseWith` is pure. @param readYaml reads the files that are not plain YAML */
export function parseWith(readYaml: YamlReader, given: readonly PolicyFile[]) {
  const report = new Report();
  const files = [...given].sort((a, b) => (a.path < b.path ? -1 : 1));
  const trees = files.map((file) => parseFile(file, report, readYaml)).filter((tree) => tree !== null);
  let isSound = report.found.length === 0;
  for (const tree of trees) findSecrets(tree, report);
  const start = { file: files[0]?.path ?? 'policies', line: 1, column: 1, length: 1 };
  const problemsBefore = report.found.length;
  const sections = mergeFiles(trees, report);
  // A section with a misspelt name may be the catalog.
  isSound &&= report.found.length === problemsBefore;
  const content = checkSections({ sections, report, start });
  return {
    ...content,
    /** The files by path, ascending. */
    files,
    /** The beginning of the policy. Missing sections are reported at the beginning of the policy. */
    start,
    /** Whether a file could not be read. Parts that seem missing may be in a file that could not be read. */
    isPartial: trees.length < files.length,
    /** Whether the catalog has no errors, so that rules can be evaluated over it. */
    hasSoundModels: content.hasSoundModels && isSound,
    /** The problems of the policy that were found so far, not sorted. `compilePolicy` returns all problems. */
    diagnostics: report.found,
  };
}

const isHosted = ({ data }: NamedItem<ProviderText>) => statesKey(data) || data?.preset !== undefined;

const withoutStar = (pattern: string): string => pattern.slice(0, -1);

function checkSections(context: CheckContext) {
  const { sections, start } = context;
  if (sections.has('version')) checkSection('version', SECTIONS.version, context);
  const { credit, money } = readCredits(context);
  const values = readValues(context);
  const settings = readSettings(context, values);
  const tasks = compileTasks(context);
  const taskIndex = new Map(tasks.map((task, index) => [task.name, index]));
  const providers = checkNamed('providers', ProviderText, context);
  const needsKey = new Map(providers.map(({ name, data }) => [name, statesKey(data)]));
  const hosted = new Set(providers.filter(isHosted).map(({ name }) => name));
  const problemsBefore = context.report.found.length;
  const openings = openingsOf(providers);
  const servesAny = openings.length > 0 || providers.some(({ data }) => data?.serves !== undefined);
  const contracts = draftContracts(context, needsKey.keys());
  const modelContext = { ...money, contracts, needsKey, hosted, taskIndex, servesAny, ...values };
  const { named, drafts, ids, latencyOf } = draftModels(modelContext);
  const wildcards = draftWildcards(providers, latencyOf, modelContext);
  const hasSoundModels = context.report.found.length === problemsBefore && ids.size + wildcards.length > 0;
  const baseline = readBaseline(ids, context);
  const selectors = draftSelectors(context, ids);
  const patterns = wildcards.map(({ pattern }) => pattern);
  checkFallbacks([...named, ...selectors], { ids, selectors, patterns }, context.report);
  checkTiers(selectors, ids, context.report);
  const { aliases, standIns } = draftAliases({ models: named, ids, selectors }, context.report);
  const constraints = draftConstraints(money);
  const zone = timeZoneIn(context);
  const budgets = draftBudgets(money, zone);
  const preferences = draftPreferences(context);
  const people = draftPeople(money, zone, { ids, starts: [...openings, ...patterns.map(withoutStar)] });
  reviewFallbacks({ named, drafts, people }, context.report);
  const publicUrl = readPublicUrl(context);
  const own = draftSections({ ...money, publicUrl, budgetNames: budgets.map(({ name }) => name) });
  const guards = own.guards.map(({ name }) => name);
  const parts = { ids, providers, selectors, aliases, constraints, taskIndex, wildcards, drafts, openings, guards };
  const names = caseNamesOf(parts);
  return {
    /** The amounts of USD that limits and ceilings state. */
    converted: money.converted,
    /** The plugins to load before the policy is compiled. */
    plugins: draftPlugins(context),
    /** The worth of a Credit; null if it is wrong. */
    credit,
    /** `settings` is null if any of its sections is wrong. */
    settings: settings && { ...settings, baseline },
    tasks,
    /** The requests for which selectors order their models. */
    traffic: draftTraffic(context, tasks),
    providers,
    providersPlace: sections.get('providers')?.place ?? start,
    meteredLabel: readMeteredLabel(settings?.keyLabel ?? null, context),
    /** Location of `gateway.socket_bytes_max`, or of its nearest parent in the file. */
    socketBytesPlace: placeAt(sectionSubject('gateway', context).tree, 'socket_bytes_max'),
    models: drafts,
    contracts,
    wildcards,
    /** The beginnings of the IDs of models that may be found. */
    openings,
    /** Maps every model ID to its location, also of models with errors. */
    modelIds: ids,
    hasSoundModels,
    selectors,
    aliases,
    standIns,
    /** The aliases of the built-in selectors that the policy does not list. */
    defaultAliases: agentAliases(values.defaultAliases),
    constraints,
    preferences,
    people,
    budgets,
    own,
    publicUrl,
    cases: draftCases(money, names),
    /**
     * The names that test cases and guards of the policy send as `model`. Signalbox checks these names later, because the check needs public figures.
     */
    sentNames: [...names.sent, ...own.guards.flatMap(({ model }) => model ?? [])],
    /** The bare data of every section, for comparing two revisions. */
    outline: Object.fromEntries([...sections].map(([name, { value }]) => [name, toData(value)])),
  };
}

/** The parts of a policy whose names test cases can use. */
interface NamedParts
  extends Pick<ModelNames, 'ids'>,
    Pick<AliasDraft, 'aliases'>,
    Record<'providers' | 'selectors' | 'constraints', readonly { readonly name: string }[]> {
  readonly taskIndex: ReadonlyMap<string, number>;
  readonly wildcards: readonly WildcardDraft[];
  readonly drafts: readonly ModelDraft[];
  readonly openings: readonly string[];
  readonly guards: readonly string[];
}

function caseNamesOf({
  ids,
  aliases,
  taskIndex,
  wildcards,
  drafts,
  openings,
  guards,
  ...parts
}: NamedParts): CaseNames {
  const namesIn = (named: readonly { readonly name: string }[]) => new Set(named.map(({ name }) => name));
  return {
    models: ids,
    aliases,
    tasks: taskIndex,
    sent: [],
    providers: namesIn(parts.providers),
    selectors: namesIn(parts.selectors),
    constraints: namesIn(parts.constraints),
    guards: new Set(guards),
    patterns: [...wildcards.map(({ pattern }) => pattern), ...openings.map((opening) => `${opening}*`)],
    wildcard: openNames({ wildcards, models: drafts, aliases, openings }, null),
  };
}

/** Returns the time zone of the policy; its default if it is wrong, which the section `gateway` reports. */
function timeZoneIn(context: CheckContext): string {
  const stated = valueAt(sectionSubject('gateway', context).tree, 'time_zone');
  const { default: usual } = SECTIONS.gateway.properties.time_zone;
  return stated?.kind === 'scalar' && isTimeZone(stated.source) ? stated.source : usual;
}

const USD_PER_CREDIT: Decimal = { digits: 1n, scale: 3 };

/** Reads the worth of a Credit. `money` is the context of the sections that state amounts; `credit` is null if the worth is wrong. */
function readCredits(context: CheckContext) {
  const { tree } = sectionSubject('credits', context);
  const checked = checkSection('credits', SECTIONS.credits, context);
  const stated = valueAt(tree, 'usd_per_credit');
  const usdPerCredit = stated && checked ? decimalAt(tree, 'usd_per_credit', context.report) : USD_PER_CREDIT;
  const converted: ConvertedAmount[] = [];
  const money = { ...context, usdPerCredit: (checked && usdPerCredit) || USD_PER_CREDIT, converted };
  if (!checked || !usdPerCredit) return { credit: null, money };
  /** Location of the figure, or the beginning of the policy if the figure is not stated. */
  const place = stated?.place ?? context.start;
  return { credit: { usd: plainText(usdPerCredit), place, isStated: stated !== undefined }, money };
}

function readSettings(
  context: CheckContext,
  {
    unstatedLanguages,
    aliasPatterns,
    defaultAliases: ___,
    unstatedLatency: _,
    unstatedQuality: __,
    ...values
  }: ReturnType<typeof readValues>,
) {
  const metrics = checkSection('metrics', SECTIONS.metrics, context);
  const escalation = checkSection('escalate', SECTIONS.escalate, context);
  const console = checkSection('console', SECTIONS.console, context);
  if (!metrics || !console || !escalation) return null;
  return {
    ...values,
    /** Whether a required language that no model declares excludes no model. */
    admitUnstated: unstatedLanguages === 'admit',
    patternsCoverKnown: aliasPatterns === 'all_names',
    escalation: { ...camelKeys(escalation), shareMax: escalation.share_max ?? null },
    keyLabel: metrics.key_label ?? null,
    console: console.enabled,
    traceUrl: console.trace_url ?? null,
  };
}

function readMeteredLabel(label: string | null, context: CheckContext) {
  const { tree } = sectionSubject('metrics', context);
  return label === null ? null : { label, place: placeAt(tree, 'key_label'), path: '' };
}

/** Returns the ID of the baseline model; null for none. The model need not be available in this environment. */
function readBaseline(ids: ReadonlyMap<string, SourceSpan>, { sections, report }: CheckContext): string | null {
  const subject = statedSubject('baseline', sections);
  if (!subject) return null;
  const id = checkValue(SECTIONS.baseline, subject, report);
  if (id !== null && !ids.has(id)) report.addUnknown('model', id, ids.keys(), subject.tree.place);
  return id;
}
