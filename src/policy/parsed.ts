import type { Static } from '@sinclair/typebox';
import type { LedgerPolicy } from '../core/budget.ts';
import { type Decimal, plainText, toNumber } from '../core/decimal.ts';
import type { GatewayPolicy, PolicySnapshot } from '../core/snapshot.ts';
import { type AliasDraft, draftAliases } from './aliases.ts';
import { type CaseNames, draftCases, type SentName } from './cases.ts';
import { checkValue } from './check.ts';
import { type ContentDraft, contentMatch, draftContent } from './contents.ts';
import { readOrigins } from './cors.ts';
import type { Diagnostic, SourceSpan } from './diagnostics.ts';
import { draftLearning, type LearningDraft } from './learning.ts';
import {
  type BudgetDraft,
  draftBudgets,
  draftRateLimits,
  type RateLimitDraft,
  readAdmission,
  readSocketBytes,
} from './limit-drafts.ts';
import { mergeFiles } from './merge.ts';
import { draftModels, type ModelDraft } from './models.ts';
import { type PolicyFile, parseFile, type YamlReader } from './parse.ts';
import { draftPayments } from './payments.ts';
import { draftPlugins, type PluginDraft } from './plugins.ts';
import { decimalAt } from './prices.ts';
import { Report } from './report.ts';
import {
  type ConstraintDraft,
  draftConstraints,
  draftPreferences,
  type ExpressionDraft,
  type PreferenceDraft,
} from './rule-drafts.ts';
import {
  CreditsText,
  GatewayText,
  ProviderText,
  ReferencePriceText,
  SECTIONS,
  type SelectorText,
  WeightsText,
} from './schema.ts';
import { LedgerText } from './schema-budgets.ts';
import { RecordsText } from './schema-records.ts';
import { findSecrets } from './secrets.ts';
import {
  type CheckContext,
  checkNamed,
  checkSection,
  type NamedItem,
  sectionSubject,
  statedSubject,
} from './sections.ts';
import { draftSelectors } from './selectors.ts';
import { compileTasks } from './tasks.ts';
import { checkTimeZone } from './time-zone.ts';
import { placeAt, toData, valueAt } from './tree.ts';
import { inVersion, LATEST_VERSION, type LanguageVersion } from './versions.ts';
import { wildcardNames } from './wildcard-names.ts';
import { draftWildcards, type WildcardDraft } from './wildcards.ts';

/**
 * A policy after the checks that need neither plugins nor expressions nor the environment. Plain data:
 * a worker can send it by structured clone.
 */
export interface ParsedPolicy extends Pick<PolicySnapshot, 'tasks' | 'payments' | 'cases'>, AliasDraft {
  /** By path, ascending. */
  readonly files: readonly PolicyFile[];
  /** The problems so far, not sorted. `compilePolicy` returns all. */
  readonly diagnostics: readonly Diagnostic[];
  /** Some file could not be read, so missing parts may be in it. */
  readonly isPartial: boolean;
  /** The beginning of the policy, at which missing sections are reported. */
  readonly start: SourceSpan;
  /** Plugins to load before the policy is compiled. */
  readonly plugins: readonly PluginDraft[];
  /** The version of the language; the latest if it is not stated or wrong. */
  readonly version: LanguageVersion;
  /** The value of a Credit; null if it is wrong. */
  readonly credit: CreditValue | null;
  /** Null if a section is wrong. */
  readonly settings: PolicySettings | null;
  readonly providers: readonly NamedItem<ProviderText>[];
  readonly providersPlace: SourceSpan;
  /** The place of `gateway.socket_bytes_max`, or of what stands for it. */
  readonly socketBytesPlace: SourceSpan;
  readonly models: readonly ModelDraft[];
  readonly wildcards: readonly WildcardDraft[];
  /** Every model ID, invalid models included → its place. */
  readonly modelIds: ReadonlyMap<string, SourceSpan>;
  /** The catalog has no errors, so rules can be evaluated over it. */
  readonly hasSoundModels: boolean;
  readonly selectors: readonly NamedItem<SelectorText>[];
  readonly constraints: readonly ConstraintDraft[];
  readonly preferences: readonly PreferenceDraft[];
  readonly budgets: readonly BudgetDraft[];
  readonly rateLimits: readonly RateLimitDraft[];
  /** The requests whose content is kept; null for all of them, or if no content is kept. */
  readonly contentMatch: ExpressionDraft | null;
  readonly learning: LearningDraft;
  /** The names that cases send as `model`. They are checked where public figures are at hand. */
  readonly sentNames: readonly SentName[];
  /** The bare data of every section, by which two revisions are compared. */
  readonly outline: Readonly<Record<string, unknown>>;
}

/** The value of a Credit. */
export interface CreditValue {
  /** USD, as in the snapshot. */
  readonly usd: string;
  /** The place of the figure, or the beginning of the policy if it is left out. */
  readonly place: SourceSpan;
  readonly isStated: boolean;
}

/** The sections without names. */
export interface PolicySettings
  extends Pick<
    PolicySnapshot,
    'ledger' | 'gateway' | 'defaultWeights' | 'referencePrice' | 'answerWorth' | 'hardQualityFactor' | 'languageWorth'
  > {
  readonly recordDays: number;
  readonly recordedMetadata: readonly string[];
  /** Whether requiring a language that no model declares excludes no model. */
  readonly admitUnstated: boolean;
  /** The content of requests that is kept; null for none. */
  readonly content: ContentDraft | null;
  /** ID of a model of the catalog. */
  readonly baseline: string | null;
}

/** Reads and checks the files of a policy, in any order. Pure. `readYaml` reads the files that are not plain YAML. */
export function parseWith(readYaml: YamlReader, given: readonly PolicyFile[]): ParsedPolicy {
  const report = new Report();
  const files = [...given].sort((a, b) => (a.path < b.path ? -1 : 1));
  const trees = files.map((file) => parseFile(file, report, readYaml)).filter((tree) => tree !== null);
  let isSound = report.found.length === 0;
  for (const tree of trees) findSecrets(tree, report);
  const start = { file: files[0]?.path ?? 'policies', line: 1, column: 1, length: 1 };
  const problemsBefore = report.found.length;
  const sections = mergeFiles(trees, report);
  // A misspelt section may be the catalog.
  isSound &&= report.found.length === problemsBefore;
  const content = checkSections({ sections, report, start });
  const isPartial = trees.length < files.length;
  const hasSoundModels = content.hasSoundModels && isSound;
  return { files, isPartial, start, ...content, hasSoundModels, diagnostics: report.found };
}

function checkSections(context: CheckContext): Omit<ParsedPolicy, 'files' | 'diagnostics' | 'isPartial' | 'start'> {
  const { sections, start } = context;
  const version = readVersion(context);
  const { credit, usdPerCredit } = readCredits(context);
  const settings = readSettings(context, version, usdPerCredit);
  const tasks = compileTasks(context, version);
  const taskIndex = new Map(tasks.map((task, index) => [task.name, index]));
  const providers = checkNamed('providers', ProviderText, context);
  const needsKey = new Map(providers.map(({ name, data }) => [name, data?.api_key_env !== undefined]));
  const isHosted = ({ data }: NamedItem<ProviderText>) => data?.api_key_env !== undefined || data?.preset !== undefined;
  const hosted = new Set(providers.filter(isHosted).map(({ name }) => name));
  const problemsBefore = context.report.found.length;
  const medianProviders = readValue('unstated_latency', version, context) === 'median' ? hosted : null;
  const servesAny = providers.some(({ data }) => data?.serves !== undefined);
  const modelContext = { ...context, usdPerCredit, needsKey, medianProviders, taskIndex, servesAny };
  const { named, drafts, ids, latencyOf } = draftModels(modelContext);
  const wildcards = draftWildcards(providers, latencyOf, modelContext);
  const hasSoundModels = context.report.found.length === problemsBefore && ids.size + wildcards.length > 0;
  const baseline = readBaseline(ids, context);
  const selectors = draftSelectors(context, ids);
  const { aliases, standIns } = draftAliases({ models: named, ids, selectors }, context.report);
  const constraints = draftConstraints(context);
  const preferences = draftPreferences(context);
  const names: CaseNames = {
    models: ids,
    providers: new Set(providers.map(({ name }) => name)),
    selectors: new Set(selectors.map(({ name }) => name)),
    aliases,
    constraints: new Set(constraints.map(({ name }) => name)),
    tasks: taskIndex,
    patterns: wildcards.map(({ pattern }) => pattern),
    wildcard: wildcardNames(wildcards, { models: drafts, aliases }, null),
    sent: [],
  };
  return {
    version,
    plugins: draftPlugins(context),
    credit,
    settings: settings && { ...settings, baseline },
    tasks,
    providers,
    providersPlace: sections.get('providers')?.place ?? start,
    socketBytesPlace: placeAt(sectionSubject('gateway', context).tree, 'socket_bytes_max'),
    models: drafts,
    wildcards,
    modelIds: ids,
    hasSoundModels,
    selectors,
    aliases,
    standIns,
    constraints,
    preferences,
    budgets: draftBudgets(context, settings?.gateway.timeZone ?? GatewayText.properties.time_zone.default),
    rateLimits: draftRateLimits(context),
    contentMatch: contentMatch(context),
    learning: draftLearning(context),
    payments: draftPayments(context, usdPerCredit),
    cases: draftCases(context, names),
    sentNames: names.sent,
    outline: Object.fromEntries([...sections].map(([name, { value }]) => [name, toData(value)])),
  };
}

function readVersion({ sections, start, report }: CheckContext): LanguageVersion {
  const subject = statedSubject('version', sections);
  if (subject) return checkValue(SECTIONS.version, subject, report) ?? LATEST_VERSION;
  report.add('no-version', start, 'the policy does not state its `version`', {
    expected: `\`version: ${LATEST_VERSION}\``,
  });
  return LATEST_VERSION;
}

const USD_PER_CREDIT: Decimal = { digits: 1n, scale: 3 };

function readCredits(context: CheckContext): { credit: CreditValue | null; usdPerCredit: Decimal } {
  const { tree } = sectionSubject('credits', context);
  const checked = checkSection('credits', CreditsText, context);
  const stated = valueAt(tree, 'usd_per_credit');
  const usdPerCredit = stated && checked ? decimalAt(tree, 'usd_per_credit', context.report) : USD_PER_CREDIT;
  if (!checked || !usdPerCredit) return { credit: null, usdPerCredit: USD_PER_CREDIT };
  const place = stated?.place ?? context.start;
  return { credit: { usd: plainText(usdPerCredit), place, isStated: stated !== undefined }, usdPerCredit };
}

function readSettings(
  context: CheckContext,
  version: LanguageVersion,
  credit: Decimal,
): Omit<PolicySettings, 'baseline'> | null {
  const usdPerCredit = toNumber(credit);
  const gateway = readGateway(context);
  const defaultWeights = readWeights(context);
  const reference = checkSection('reference_price', ReferencePriceText, context);
  const answerWorth = readValue('answer_worth', version, context);
  const hardFactor = readValue('hard_quality_factor', version, context);
  const languageWorth = readValue('language_worth', version, context);
  const admitUnstated = readValue('unstated_languages', version, context) === 'admit';
  const records = checkSection('records', RecordsText, context);
  const ledger = readLedger(context);
  if (!gateway || !defaultWeights || !reference || !records || !ledger) return null;
  // Doubles are exact enough, because it only scales weights.
  const referencePrice = { input: reference.input / usdPerCredit, output: reference.output / usdPerCredit };
  const { retention_days: recordDays, metadata: recordedMetadata } = records;
  const content = draftContent(records);
  return {
    ledger,
    gateway,
    defaultWeights,
    referencePrice,
    answerWorth,
    hardQualityFactor: hardFactor === 'none' ? null : hardFactor,
    languageWorth,
    admitUnstated,
    recordDays,
    recordedMetadata,
    content,
  };
}

function readGateway(context: CheckContext): GatewayPolicy | null {
  const text = checkSection('gateway', GatewayText, context);
  if (!text) return null;
  const { tree } = sectionSubject('gateway', context);
  checkTimeZone(text.time_zone, placeAt(tree, 'time_zone'), context.report);
  return {
    bodyBytesMax: text.body_bytes_max,
    messagesMax: text.messages_max,
    toolsMax: text.tools_max,
    commitAfterMs: text.commit_after_ms,
    websockets: text.websockets,
    socketBytesMax: readSocketBytes(text, tree, context.report),
    timeZone: text.time_zone,
    alternatives: text.alternatives,
    retriesMax: text.retries_max,
    toolUsesMax: text.tool_uses_max,
    passthroughTools: new Set(text.passthrough_tools),
    dropTools: new Set(text.drop_tools),
    dropUnsupported: new Set(text.drop_unsupported),
    allowPrivateImageUrls: text.allow_private_image_urls,
    corsOrigins: readOrigins(text, tree, context.report),
    admission: readAdmission(text, tree, context.report),
  };
}

function readLedger(context: CheckContext): LedgerPolicy | null {
  const text = checkSection('ledger', LedgerText, context);
  if (!text) return null;
  const { contention_wait_ms: contentionWaitMs, whole_hold_share: wholeHoldShare, on_crash: onCrash } = text;
  return { contentionWaitMs, wholeHoldShare, onCrash };
}

function readWeights(context: CheckContext): PolicySnapshot['defaultWeights'] | null {
  const text = checkSection('default_weights', WeightsText, context);
  if (text?.cost === 0 && text.quality === 0) {
    const { place } = sectionSubject('default_weights', context);
    context.report.add('out-of-range', place, 'the weights cannot both be 0', {
      expected: 'at least one weight above 0',
    });
  }
  return text;
}

/** The value of a section that is one value; its default in this version if it is left out or wrong. */
function readValue<
  Name extends 'answer_worth' | 'hard_quality_factor' | 'language_worth' | 'unstated_latency' | 'unstated_languages',
>(name: Name, version: LanguageVersion, { sections, report }: CheckContext): Static<(typeof SECTIONS)[Name]> {
  const fallback: Static<(typeof SECTIONS)[Name]> = inVersion(SECTIONS[name], version).default;
  const subject = statedSubject(name, sections);
  return (subject && checkValue(SECTIONS[name], subject, report)) ?? fallback;
}

/** The ID of the baseline; null for none. The model need not be available here. */
function readBaseline(ids: ReadonlyMap<string, SourceSpan>, { sections, report }: CheckContext): string | null {
  const subject = statedSubject('baseline', sections);
  if (!subject) return null;
  const id = checkValue(SECTIONS.baseline, subject, report);
  if (id !== null && !ids.has(id)) report.addUnknown('model', id, ids.keys(), subject.tree.place);
  return id;
}
