import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { ALERTS } from './alerts.ts';
import { camelKeys } from './camel-keys.ts';
import { checkValue } from './check.ts';
import { PAYMENTS } from './payments.ts';
import { RATE_LIMITS } from './rate-limits.ts';
import { GatewayText, ProviderText, SelectorText, TaskText } from './schema.ts';
import { BudgetText, LedgerText } from './schema-budgets.ts';
import { CaseText } from './schema-case.ts';
import { closed, number, oneOfExplained, optional, string } from './schema-parts.ts';
import { OrganizationText, TeamText } from './schema-people.ts';
import { RecordsText } from './schema-records.ts';
import { ConstraintText, PluginText, PreferenceText } from './schema-rules.ts';
import { ConsoleText, PublicUrlText } from './schema-sign-in.ts';
import { ModelsText } from './schema-wildcard.ts';
import { type CheckContext, statedSubject } from './section-checks.ts';
import {
  BY_KEY,
  type DraftContext,
  ORDINARY,
  type OwnSection,
  type Section,
  type SectionContext,
} from './section-definition.ts';
import { SIGN_IN } from './sign-in.ts';
import { TOKENS } from './tokens.ts';
import { inVersion, LATEST_VERSION, type LanguageVersion, VERSIONS } from './versions.ts';

const section = <Text extends TSchema>(text: Text, guard: string, page?: Section['page']): Section<Text> => ({
  ...{ text, guard },
  ...(page && { page }),
});
const ordinary = <Text extends TSchema>(text: Text, page?: Section['page']) => section(text, ORDINARY, page);

/** A section that is one value, with a default. The settings of a policy have it under its name in camel case. */
const value = <Text extends TSchema>(text: Text) => ({ ...ordinary(text), isValue: true as const });

const mapOf = <Text extends TSchema>(text: Text, description: string) =>
  Type.Record(Type.String(), text, { description });
const listOf = <Text extends TSchema>(text: Text, description: string) => Type.Array(text, { description });

/** Every section of the language. Messages and the reference name them in this order. */
export const LANGUAGE = {
  version: ordinary(
    Type.Unsafe<LanguageVersion>(
      Type.Union(
        VERSIONS.map((version) => Type.Literal(version)),
        {
          expected: '`1` or `2`',
          examples: [LATEST_VERSION],
          description: 'Version of the policy language. The versions differ in defaults alone.',
        },
      ),
    ),
  ),
  credits: ordinary(
    closed('The value of a Credit.', {
      usd_per_credit: number({ exclusiveMinimum: 0, maximum: 1000, default: 0.001 }, 'USD that one Credit is worth.'),
    }),
  ),
  gateway: section(GatewayText, BY_KEY, ['Run', '../spend/rate-limits.md']),
  records: section(RecordsText, 'it decides which texts of callers are stored, and how long evidence is kept', [
    'Run',
    '../operate/privacy.md',
  ]),
  providers: section(mapOf(ProviderText, 'Name → provider.'), BY_KEY, ['Serve', 'language.md#providers']),
  models: ordinary(ModelsText, ['Serve', 'language.md#models']),
  tasks: ordinary(
    mapOf(
      TaskText,
      'Name → task. `general` and the other usual tasks always exist, with sizes of their own; in version 1, with those of `general`.',
    ),
    ['Choose', '../route/scoring.md#the-task'],
  ),
  selectors: ordinary(mapOf(SelectorText, 'Name → selector. `auto`, `auto-fast` and `auto-cheap` always exist.'), [
    'Choose',
    'language.md#selectors',
  ]),
  default_weights: ordinary(
    closed('Weights that a `route_strategy` of a request leaves out. Only their ratio matters.', {
      cost: number({ minimum: 0, default: 0.3 }, 'Weight of cost. Only the ratio counts.'),
      quality: number({ minimum: 0, default: 0.7 }, 'Weight of quality.'),
    }),
  ),
  reference_price: ordinary(
    closed('Price behind the unit of `answer_worth`.', {
      input: number({ minimum: 0, maximum: 100_000, default: 1 }, 'USD per 1M input tokens.'),
      output: number({ exclusiveMinimum: 0, maximum: 100_000, default: 4 }, 'USD per 1M output tokens.'),
    }),
  ),
  answer_worth: value(
    number(
      { exclusiveMinimum: 0, maximum: 1_000_000, default: 20 },
      'How many reference costs a good answer is worth.',
    ),
  ),
  hard_quality_factor: value(
    Type.Unsafe<number | 'none'>(
      Type.Union([Type.Number({ minimum: 1, maximum: 1000 }), Type.Literal('none')], {
        expected: 'a number from 1 to 1000, or `none`',
        default: 8,
        formerDefault: 'none',
        examples: [8],
        description:
          'How many times as much quality weighs in a request that is judged hard, 1 to 1000. `none`: the cost of such a request counts half.',
      }),
    ),
  ),
  answer_length: value(
    oneOfExplained({
      means: {
        measured:
          'The measured length once 20 answers count, else the declared one. Cost, latency and reference cost use the same.',
        blended: 'Cost and latency use a mean of both lengths, reference cost the declared one.',
      },
      default: 'measured',
      formerDefault: 'blended',
      examples: ['blended'],
      description:
        'Expected length of an answer. `measured`: the measured length of its task once 20 answers count, else the declared one. `blended`: a mean of both for cost and latency, and the declared one for reference cost.',
    }),
  ),
  unstated_latency: value(
    oneOfExplained({
      means: {
        neutral: '1,000 ms to the first token and 50 tokens per second, for every model.',
        median: 'The medians of the catalog’s models of the same kind.',
      },
      default: 'median',
      formerDefault: 'neutral',
      examples: ['neutral'],
      description:
        'Speed of a model that states none. `median`: that of similar models. `neutral`: 1,000 ms and 50 tokens per second.',
    }),
  ),
  language_worth: value(
    number(
      { minimum: 0, maximum: 1, default: 0.06, formerDefault: 0.04 },
      'Quality added where a model declares a programming language of the request; half where unknown.',
    ),
  ),
  unstated_languages: value(
    oneOfExplained({
      means: {
        exclude: 'Requiring it leaves no model.',
        admit: 'It is unknown of all models: requiring it leaves those that are not said to lack it.',
      },
      default: 'admit',
      formerDefault: 'exclude',
      examples: ['exclude'],
      description:
        'Effect of a required programming language that no model declares. `admit` leaves the models that do not lack it; `exclude` leaves none.',
    }),
  ),
  alias_patterns: value(
    oneOfExplained({
      means: {
        unknown_names: 'A model with public figures that a wildcard serves keeps its name.',
        all_names: 'They also cover the names of models that a wildcard serves.',
      },
      default: 'unknown_names',
      formerDefault: 'all_names',
      examples: ['all_names'],
      description:
        'Names that aliases with `*` at the end cover. A model of the policy always keeps its name. `unknown_names`: so does a model with public figures that a wildcard serves.',
    }),
  ),
  constraints: ordinary(listOf(ConstraintText, 'Hard rules: they reject models and endpoints.'), [
    'Choose',
    'language.md#constraints-and-preferences',
  ]),
  preferences: ordinary(listOf(PreferenceText, 'Soft rules: they raise or lower the quality of models.'), [
    'Choose',
    'language.md#constraints-and-preferences',
  ]),
  budgets: ordinary(listOf(BudgetText, 'Limits on spend in windows of time.'), ['Spend', '../spend/budgets.md']),
  rate_limits: RATE_LIMITS,
  alerts: ALERTS,
  ledger: ordinary(LedgerText),
  learning: ordinary(
    Type.Unknown({
      examples: ['off'],
      description: 'Without effect: scores no longer change the quality of models. Remove it.',
    }),
    ['Choose', '../route/learning.md'],
  ),
  organization: ordinary(OrganizationText, ['Spend', '../operate/people.md#declare-teams']),
  payments: PAYMENTS,
  tokens: TOKENS,
  plugins: section(
    Type.Array(PluginText, {
      examples: [['./plugins/thrifty.ts']],
      description: 'Plugins of your own: relative paths or package names.',
    }),
    'it runs code in this process',
  ),
  teams: ordinary(listOf(TeamText, 'Teams. Others are made through the API.'), [
    'Spend',
    '../operate/people.md#declare-teams',
  ]),
  cases: ordinary(listOf(CaseText, "The policy's own tests, run before it comes into force."), ['Run', 'testing.md']),
  metrics: section(
    closed('What metrics tell of requests.', {
      key_label: optional.string(
        { minLength: 1, maxLength: 200, example: 'project' },
        'Label of keys that the metrics of requests and spend bear as `key_label`. At most 200 of its values are told apart.',
      ),
    }),
    'it decides which labels of keys stand at `/metrics`, which needs no key',
  ),
  public_url: section(PublicUrlText, 'it decides where people are sent for sign-in, and what quotes name'),
  console: section(ConsoleText, 'it decides who can open the console'),
  sign_in: SIGN_IN,
  baseline: ordinary(
    string(
      { minLength: 1, example: 'gpt-6.1-sol' },
      'Model that savings are measured against. Default: the eligible model with the best quality.',
    ),
  ),
} satisfies Readonly<Record<string, Section>>;

type Language = typeof LANGUAGE;
export type SectionName = keyof Language;
type NameWith<Part> = { [Name in SectionName]: Language[Name] extends Part ? Name : never }[SectionName];
type OwnName = NameWith<{ readonly draft: unknown }>;
type ValueName = NameWith<{ readonly isValue: true }>;

type Schemas = { readonly [Name in SectionName]: Language[Name]['text'] };
type Values = { [Name in ValueName]: Static<Schemas[Name]> };
type Drafts = { readonly [Name in OwnName]: ReturnType<Language[Name]['draft']> };
type Made = { [Name in OwnName]: Language[Name] extends OwnSection<TSchema, infer _, infer One> ? One : never };

/** The schema of every section. */
export const SECTIONS = Object.fromEntries(Object.entries(LANGUAGE).map(([name, { text }]) => [name, text])) as Schemas;

const OWN = Object.entries<Section | OwnSection<TSchema, unknown, unknown>>(LANGUAGE).flatMap(([name, one]) =>
  'draft' in one ? [[name, one] as const] : [],
);

/** Drafts the sections that have a definition of their own. */
export const draftSections = (context: DraftContext) =>
  Object.fromEntries(OWN.map(([name, own]) => [name, own.draft(context, name)])) as Drafts;

/** Compiles them for the snapshot, by their names there. */
export function* compileSections(drafts: Drafts, context: SectionContext) {
  const made: Record<string, unknown> = {};
  for (const [name, own] of OWN) made[name] = yield* own.compile(drafts[name as OwnName], context);
  return camelKeys(made as Made);
}

/** The sections that are one value; one that is left out or wrong has its default in this version. */
export function readValues(version: LanguageVersion, { sections, report }: CheckContext) {
  const values = Object.entries<Section | ReturnType<typeof value>>(LANGUAGE).flatMap(([name, one]) => {
    if (!('isValue' in one)) return [];
    const subject = statedSubject(name, sections);
    const stated: unknown = subject && checkValue(one.text, subject, report);
    return [[name, stated ?? inVersion(one.text, version).default]];
  });
  return camelKeys(Object.fromEntries(values) as Values);
}
