import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { closed, figure, flag, list, mapOf, optional, text, whole, word } from '../../core/define/fields.ts';
import { USD_PER_CREDIT_MAX } from '../../core/money/amount.ts';
import { ESCALATION_NAMES, ESCALATION_SIGNALS, USUAL_SIGNALS } from '../../core/request/facts.ts';
import { ANSWER_SIGNALS } from '../../core/request/failure-kinds.ts';
import { checkValue } from '../check/check.ts';
import { type CheckContext, statedSubject } from '../check/section-checks.ts';
import { GUARDS } from '../guards/guards.ts';
import { PAYMENTS } from '../payments/payments.ts';
import { BudgetText } from '../schema/budgets.ts';
import { camelKeys } from '../schema/camel-keys.ts';
import { CaseText } from '../schema/case.ts';
import { ContractText } from '../schema/model.ts';
import { OrganizationText, TeamText } from '../schema/people.ts';
import { ProviderText, SelectorText, TaskText } from '../schema/policy.ts';
import { ConstraintText, PluginText, PreferenceText } from '../schema/rules.ts';
import { ConsoleText, PublicUrlText } from '../schema/sign-in.ts';
import { TrafficText } from '../schema/traffic.ts';
import { ModelsText } from '../schema/wildcard.ts';
import { ALERTS } from '../sections/alerts.ts';
import { CACHE } from '../sections/cache.ts';
import { GATEWAY } from '../sections/gateway.ts';
import { RATE_LIMITS } from '../sections/rate-limits.ts';
import { RECORDS } from '../sections/records.ts';
import {
  BY_KEY,
  type DraftContext,
  ORDINARY,
  type OwnSection,
  type Section,
  type SectionContext,
} from '../sections/section-definition.ts';
import { DEFAULT_WEIGHTS, LEDGER } from '../sections/settings.ts';
import { SIGN_IN } from '../sections/sign-in.ts';
import { TOKENS } from '../sections/tokens.ts';

const section = <Text extends TSchema>(text: Text, guard: string, page?: Section['page']): Section<Text> => ({
  text,
  guard,
  ...(page && { page }),
});
const ordinary = <Text extends TSchema>(text: Text, page?: Section['page']) => section(text, ORDINARY, page);

/** A section that is a single value with a default. Policy settings have a single value under the section's name in camel case. */
const value = <Text extends TSchema>(text: Text) => ({ ...ordinary(text), isValue: true as const });

/** Every section of the language, in the order in which messages and the reference list them. */
export const LANGUAGE = {
  version: ordinary(
    Type.Literal(1, {
      expected: '`version: 1`, or leave it out',
      examples: [1],
      description: 'Version of the policy language. There is one version.',
    }),
  ),
  credits: ordinary(
    closed('The worth of a Credit.', {
      usd_per_credit: figure('USD that one Credit is worth.', {
        exclusiveMinimum: 0,
        maximum: USD_PER_CREDIT_MAX,
        default: 0.001,
      }),
    }),
  ),
  gateway: GATEWAY,
  records: RECORDS,
  providers: section(mapOf(ProviderText, 'Name → provider.'), BY_KEY, ['Serve', 'language.md#providers']),
  models: ordinary(ModelsText, ['Serve', 'language.md#models']),
  prices: ordinary(mapOf(ContractText, 'Provider → what your contract changes in its prices.'), [
    'Serve',
    'language.md#models',
  ]),
  tasks: ordinary(
    mapOf(TaskText, 'Name → task. `general` and the other built-in tasks always exist. Each has sizes of its own.'),
    ['Choose', '../route/estimates.md#the-task'],
  ),
  selectors: ordinary(mapOf(SelectorText, 'Name → selector. `auto`, `auto-fast` and `auto-cheap` always exist.'), [
    'Choose',
    'language.md#selectors',
  ]),
  traffic: ordinary(
    mapOf(
      TrafficText,
      'Task → its part of your traffic. Selectors order their models for the mean of these requests. Default: a mix of all built-in tasks.',
    ),
    ['Choose', '../route/how-a-model-is-chosen.md#the-typical-request'],
  ),
  strong_from: value(
    figure('From which probability, 0 to 1, that its first question is hard a conversation counts as hard.', {
      minimum: 0,
      maximum: 1,
      default: 0.88,
    }),
  ),
  escalate: ordinary(
    closed('When a conversation moves to a better model because an answer failed.', {
      on: Type.Array(Type.Union(ESCALATION_NAMES.map((signal) => Type.Literal(signal))), {
        uniqueItems: true,
        maxItems: ESCALATION_NAMES.length,
        default: USUAL_SIGNALS,
        examples: [['stuck_agent', 'correction']],
        description: `The signals that move a conversation: ${Object.entries(ESCALATION_SIGNALS)
          .map(([signal, meaning]) => `\`${signal}\` (${meaning})`)
          .join(', ')}. An empty list turns it off.`,
      }),
      turns: whole(
        'After this number of answers without a signal, the conversation returns to the model for its first question.',
        { minimum: 1, maximum: 100, default: 6 },
      ),
      second_attempt: flag(
        `Whether a better model is tried once in the same request, if the answer is JSON for the caller, not a stream, and shows one of these signals of \`on\`: ${ANSWER_SIGNALS.map((signal) => `\`${signal}\``).join(', ')}. Both attempts are charged.`,
        { default: true, example: false },
      ),
      share_max: optional(
        figure(
          'The highest share, 0 to 1, of the conversations of a key in the last hour that may be escalated. One conversation is always allowed. Default: no limit.',
          { minimum: 0, maximum: 1, example: 0.2 },
        ),
      ),
    }),
  ),
  default_weights: DEFAULT_WEIGHTS,
  unstated_quality: value(
    word(
      {
        lower_end:
          'The `default` of the model, minus 0.03 if its `basis` is `measured`, 0.06 if it is `guessed`, or 0.12 if it is `unknown`.',
        default: 'The `default` of the model.',
      },
      'Quality of a model in a task for which it states no figure. `default`: the `default` of the model. `lower_end`: 0.03 less if the `basis` is `measured`, 0.06 less if it is `guessed`, 0.12 less if it is `unknown`. For the task `general`, the `default` always counts.',
      { default: 'lower_end', example: 'default' },
    ),
  ),
  unstated_latency: value(
    word(
      {
        neutral: '1,000 ms to the first token and 50 tokens per second, for every model.',
        median: 'The medians of similar models in the catalog.',
        slow: '1,700 ms to the first token and 75 tokens per second, for every model.',
      },
      'Speed of a model that states none. `slow`: 1,700 ms to the first token and 75 tokens per second, which three quarters of the hosted models reach. `median`: the median speed of similar models. `neutral`: 1,000 ms to the first token and 50 tokens per second.',
      { default: 'slow', example: 'neutral' },
    ),
  ),
  unstated_languages: value(
    word(
      {
        exclude: 'A request that requires the language has no eligible model.',
        admit: 'The support counts as unknown: all models stay eligible except models that lack the language.',
      },
      'What happens if a request requires a programming language that no model declares. `admit` keeps all models except those that lack the language; `exclude` leaves no model.',
      { default: 'admit', example: 'exclude' },
    ),
  ),
  alias_patterns: value(
    word(
      {
        unknown_names: 'A model with public figures that a wildcard serves keeps its name.',
        all_names: 'The aliases also cover the names of models that a wildcard serves.',
      },
      'Which names are covered by aliases that end in `*`. A model of the policy always keeps its name. `unknown_names`: a model with public figures that a wildcard serves keeps its name, too. `all_names`: the aliases also cover such models.',
      { default: 'unknown_names', example: 'all_names' },
    ),
  ),
  default_aliases: value(
    word(
      {
        agents: 'The built-in selectors have the names that coding agents send as aliases.',
        none: 'Selectors have only the aliases that they list.',
      },
      'Which aliases the built-in selectors have in addition to the listed ones. `agents`: the names that Claude Code and gemini-cli send, such as `claude-auto`, `claude-sonnet-*` and `gemini-3.5-flash-lite`. They apply only to names that no model here has. `none`: no others.',
      { default: 'agents', example: 'none' },
    ),
  ),
  constraints: ordinary(list(ConstraintText, 'Hard rules, which reject models and endpoints.'), [
    'Choose',
    'language.md#constraints-and-preferences',
  ]),
  preferences: ordinary(list(PreferenceText, 'Soft rules, which raise or lower the quality of models.'), [
    'Choose',
    'language.md#constraints-and-preferences',
  ]),
  guards: GUARDS,
  cache: CACHE,
  budgets: ordinary(list(BudgetText, 'Limits on the Credits spent in windows of time.'), [
    'Spend',
    '../spend/budgets.md',
  ]),
  rate_limits: RATE_LIMITS,
  alerts: ALERTS,
  ledger: LEDGER,
  organization: ordinary(OrganizationText, ['Spend', '../operate/people.md#declare-teams']),
  payments: PAYMENTS,
  tokens: TOKENS,
  plugins: section(
    Type.Array(PluginText, {
      examples: [['./plugins/thrifty.ts']],
      description: 'Your own plugins: relative paths or names of packages.',
    }),
    'it runs code in this process',
  ),
  teams: ordinary(list(TeamText, 'Teams that the policy manages. Other teams are created through the API.'), [
    'Spend',
    '../operate/people.md#declare-teams',
  ]),
  cases: ordinary(list(CaseText, 'Test cases of the policy, which run before it becomes active.'), [
    'Run',
    'testing.md',
  ]),
  metrics: section(
    closed('What metrics show about requests.', {
      key_label: optional(
        text(
          'Key label whose value the metrics of requests and spend have as the label `key_label`. At most 200 values are shown separately.',
          { minLength: 1, maxLength: 200, example: 'project' },
        ),
      ),
    }),
    'it decides which labels of keys are shown at `/metrics`, which needs no key',
  ),
  public_url: section(PublicUrlText, 'it decides where people are sent for sign-in, and which URL quotes name'),
  console: section(ConsoleText, 'it decides who can open the console'),
  sign_in: SIGN_IN,
  baseline: ordinary(
    text('ID of the model that savings are compared with. Default: the eligible model with the best quality.', {
      minLength: 1,
      example: 'gpt-6.1-sol',
    }),
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

/** Compiles the sections that have a definition of their own, under their names in the snapshot. */
export function* compileSections(drafts: Drafts, context: SectionContext) {
  const made: Record<string, unknown> = {};
  for (const [name, own] of OWN) made[name] = yield* own.compile(drafts[name as OwnName], context);
  return camelKeys(made as Made);
}

/** Reads the sections that are a single value. A single value that is left out or wrong has its default */
export function readValues({ sections, report }: CheckContext) {
  const values = Object.entries<Section | ReturnType<typeof value>>(LANGUAGE).flatMap(([name, one]) => {
    if (!('isValue' in one)) return [];
    const subject = statedSubject(name, sections);
    const stated: unknown = subject && checkValue(one.text, subject, report);
    return [[name, stated ?? one.text.default]];
  });
  return camelKeys(Object.fromEntries(values) as Values);
}
