import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { DROPPABLE_NAMES } from '../core/droppable.ts';
import { AbortText } from './schema-abort.ts';
import { AlertsText } from './schema-alerts.ts';
import { BudgetText, LedgerText } from './schema-budgets.ts';
import { CaseText } from './schema-case.ts';
import { ADMISSION_KEYS, CorsText, RateLimitText } from './schema-limits.ts';
import { PagesMaxText } from './schema-pages.ts';
import {
  aliasList,
  boolean,
  closed,
  excludes,
  integer,
  needsOneOf,
  number,
  oneOf,
  oneOfExplained,
  optional,
  string,
  texts,
  VARIABLE_NAME,
} from './schema-parts.ts';
import { PaymentsText } from './schema-payments.ts';
import { OrganizationText, TeamText } from './schema-people.ts';
import { RecordsText } from './schema-records.ts';
import { ConstraintText, PluginText, PreferenceText, SelectorModelsText } from './schema-rules.ts';
import { ConsoleText, PublicUrlText, SignInText } from './schema-sign-in.ts';
import { TokenIssuerText } from './schema-tokens.ts';
import { ModelsText } from './schema-wildcard.ts';
import { LATEST_VERSION, type LanguageVersion, VERSIONS } from './versions.ts';

/**
 * The policy language: one schema for the check, the static types and the JSON Schema of editors. A
 * key with a `default` may be left out. Its type is not optional, because defaults are filled in
 * before the check.
 */
const CreditsText = closed('The value of a Credit.', {
  usd_per_credit: number({ exclusiveMinimum: 0, maximum: 1000, default: 0.001 }, 'USD that one Credit is worth.'),
});

const bounds = (fields: readonly string[], what: string) =>
  fields.map((field): [string, string] => [
    field,
    `\`${field}\` ${what}: without it a caller gets another answer than was asked for, so it is never dropped`,
  ]);

/** Fields that nobody may have dropped → why. */
const NEVER_DROPPED: Readonly<Record<string, string>> = Object.fromEntries([
  ...bounds(['max_tokens', 'max_completion_tokens', 'n', 'max_tool_calls'], 'bounds what the answer costs'),
  ...bounds(['stop', 'tools', 'tool_choice'], 'bounds what the answer says'),
  ...bounds(['response_format'], 'states the form of the answer'),
]);

export const GatewayText = closed('Limits of the whole gateway.', {
  body_bytes_max: integer(
    { minimum: 1024, maximum: 1_073_741_824, default: 10_485_760 },
    'Largest request body, in bytes.',
  ),
  messages_max: integer({ minimum: 1, maximum: 100_000, default: 2048 }, 'Most messages in a request.'),
  tools_max: integer({ minimum: 0, maximum: 10_000, default: 256 }, 'Most tools in a request.'),
  commit_after_ms: integer(
    { minimum: 0, maximum: 600_000, default: 15_000 },
    'Milliseconds that a stream waits for its first content before it sends 200 and heartbeats.',
  ),
  failed_streams: oneOfExplained({
    means: {
      break:
        'After the error event, Signalbox breaks the connection, so that no client takes the part for a whole answer.',
      end: 'The body ends after the error event. Some clients take the part for a whole answer.',
    },
    default: 'break',
    formerDefault: 'end',
    examples: ['end'],
    description:
      'How a stream of `/v1/chat/completions` that fails after its headers ends. `break`: Signalbox sends the error event and breaks the connection 250 ms later. `end`: the body ends after the error event.',
  }),
  websockets: boolean(
    { default: true, example: false },
    'Whether `/v1/responses` takes requests over a WebSocket, too. If not, it answers 426.',
  ),
  socket_bytes_max: integer(
    { minimum: 1024, maximum: 1_073_741_824, default: 1_048_576 },
    'Largest frame that a WebSocket takes, in bytes; at most `body_bytes_max`. Fixed at the start. Each connection holds as much of `bodies_bytes_max`.',
  ),
  alternatives: integer(
    { minimum: 0, maximum: 16, default: 3 },
    'Most next best models that a decision keeps, as alternatives or fallbacks.',
  ),
  retries_max: integer(
    { minimum: 0, maximum: 10, default: 2 },
    'Most retries in a chat, beyond the first attempt at each endpoint; retry budgets also apply.',
  ),
  tool_uses_max: integer(
    { minimum: 0, maximum: 100, default: 5 },
    'Most uses in one answer of a tool that the provider runs, such as web search, where the request states no figure.',
  ),
  passthrough_tools: texts(
    ['code_execution_20250825'],
    'Kinds of tools of a provider that pass although no price is known for them and a budget pays. Their bill beyond tokens is yours.',
  ),
  drop_tools: texts(
    ['web_search'],
    'Kinds of tools of a provider that are taken out of requests which offer other tools, too, so that models without them stay eligible. `platform.dropped` names them. A tool that a request forces or offers alone stays.',
  ),
  drop_unsupported: Type.Array(
    oneOf(DROPPABLE_NAMES, {
      examples: ['seed'],
      description: 'A field of requests that an answer can do without.',
      hints: NEVER_DROPPED,
    }),
    {
      default: [],
      examples: [['seed', 'presence_penalty']],
      description:
        'Fields that exclude no model: one that the chosen model lacks is dropped, and named in `platform.dropped` and the header `x-signalbox-dropped`. Other fields go only to models that take them.',
    },
  ),
  output_above_maximum: oneOfExplained({
    means: {
      cap: 'The output is capped at the model’s `max_output`. A selector leaves the model out if that is below the expected answer.',
      refuse: 'The model is left out. A request that names it is refused with 422.',
    },
    default: 'cap',
    formerDefault: 'refuse',
    examples: ['refuse'],
    description:
      'What happens where the `max_tokens` of a request is above the `max_output` of a model. `cap` sends the model’s maximum in its place; `refuse` leaves the model out.',
  }),
  repeats_in_flight: oneOfExplained({
    means: {
      wait: 'The repeat waits until the first request ends, then gets its answer.',
      refuse: 'The repeat is refused with 409 `in_flight`.',
    },
    default: 'wait',
    formerDefault: 'refuse',
    examples: ['refuse'],
    description:
      'What happens to a repeat with the same `Idempotency-Key` while the first request runs. `wait`: it waits for the answer, at most for the longest `total_ms` of a model. `refuse`: it gets 409 `in_flight`.',
  }),
  forced_tools: oneOfExplained({
    means: {
      adapt:
        'The parameters of the function are sent as the JSON schema of the answer, and the answer is returned as the call.',
      refuse: 'The model is left out. A request that names it is refused with 422.',
    },
    default: 'adapt',
    formerDefault: 'refuse',
    examples: ['refuse'],
    description:
      'What happens where a request forces the call of one function and a model refuses a forced `tool_choice`. `adapt` sends the function’s parameters as the JSON schema of the answer to a model with `json_schema`, and returns the answer as the call; `refuse` leaves the model out.',
  }),
  time_zone: string(
    { minLength: 1, maxLength: 64, default: 'UTC', example: 'Europe/Berlin' },
    'IANA time zone of `time` in rules.',
  ),
  allow_private_image_urls: boolean(
    { default: false, example: true },
    'Allows image and file addresses in private networks. Signalbox itself fetches none.',
  ),
  cors: CorsText,
  ...ADMISSION_KEYS,
});
export type GatewayText = Static<typeof GatewayText>;

const PROVIDER = {
  adapter: optional.string(
    { minLength: 1, example: 'openai-compatible' },
    'The plugin that speaks its API. Not needed beside `preset`.',
  ),
  preset: optional.string(
    { minLength: 1, example: 'groq' },
    'A known service: its adapter, address, key variable and settings. Keys beside it win.',
  ),
  base_url: optional.string({ example: 'https://api.openai.com/v1' }, 'Address that paths are appended to.'),
  base_url_env: optional.string(
    { ...VARIABLE_NAME, example: 'OLLAMA_BASE_URL' },
    'Variable with the address. While it is unset, the provider is left out.',
  ),
  api_key_env: optional.string(
    { ...VARIABLE_NAME, example: 'OPENAI_API_KEY' },
    'Name of the variable with the key, never the key. While it is unset, the provider is left out.',
  ),
  allow_private_network: boolean(
    { default: false, example: true },
    'Allows a host name to lead to this machine or a private network. `localhost` and numeric addresses need no permission.',
  ),
  passthrough: texts(['verbosity'], 'Request fields unknown to the gateway that are passed on; `"*"` for all.'),
  cache_ttl_s: number(
    { minimum: 0, maximum: 86_400, default: 300 },
    'Seconds that it caches a prompt after the last use; 0 for no cache.',
  ),
  cache_min_tokens: integer(
    { minimum: 1, maximum: 10_000_000, default: 1024 },
    'Tokens of the shortest prompt that it caches.',
  ),
  after_abort: Type.Optional(AbortText),
  pages_max: Type.Optional(PagesMaxText),
  serve: oneOfExplained({
    means: { always: 'Beside all others.', when_alone: 'Only while no other provider can serve anything.' },
    default: 'always',
    examples: ['when_alone'],
    description: '`when_alone`: only while no other provider can serve.',
  }),
  serves: Type.Optional(
    Type.Literal('*', {
      examples: ['*'],
      description: '`"*"`: any model that it has, as `NAME/ID`; one with public figures as `ID`, too.',
    }),
  ),
  settings: Type.Record(Type.String(), Type.Unknown(), {
    default: {},
    examples: [{ max_tokens_field: 'max_completion_tokens' }],
    description: "The adapter's own settings, checked by its schema.",
  }),
};
export const ProviderText = closed('A service or server that serves models.', PROVIDER, {
  ...needsOneOf('adapter', 'preset'),
  ...excludes('base_url', 'base_url_env'),
});
export type ProviderText = Static<typeof ProviderText>;

const tokens = (description: string, example: number) =>
  integer({ minimum: 1, maximum: 10_000_000, example }, description);

export const TaskText = closed('A kind of request, with its usual sizes.', {
  expected_output_tokens: tokens('Usual visible output, in tokens.', 400),
  default_input_tokens: tokens('Input of a route query that states none, in tokens.', 500),
  min_useful_output: integer({ minimum: 1, maximum: 1_000_000, default: 64 }, 'Shortest useful answer, in tokens.'),
});

export const SelectorText = closed('A name that callers send as `model` to leave the choice to the gateway.', {
  strategy: string({ minLength: 1, example: 'auto' }, 'The strategy plugin that scores the models.'),
  options: Type.Record(Type.String(), Type.Unknown(), {
    default: {},
    examples: [{ emphasis: 16 }],
    description: "The strategy's options, checked by its schema.",
  }),
  models: Type.Optional(SelectorModelsText),
  vector_space: optional.string(
    { minLength: 1, maxLength: 128, example: 'text-embedding-3-small' },
    'Vector space that it chooses embedding models of. Without one it serves no embeddings.',
  ),
  aliases: aliasList(
    'Other names of the selector, as of a model. Those of a model stand for the selector where the model is not served.',
    'claude-auto',
  ),
});
export type SelectorText = Static<typeof SelectorText>;

const WeightsText = closed('Weights that a `route_strategy` of a request leaves out. Only their ratio matters.', {
  cost: number({ minimum: 0, default: 0.3 }, 'Weight of cost. Only the ratio counts.'),
  quality: number({ minimum: 0, default: 0.7 }, 'Weight of quality.'),
});

const ReferencePriceText = closed('Price behind the unit of `answer_worth`.', {
  input: number({ minimum: 0, maximum: 100_000, default: 1 }, 'USD per 1M input tokens.'),
  output: number({ exclusiveMinimum: 0, maximum: 100_000, default: 4 }, 'USD per 1M output tokens.'),
});

const AnswerWorth = number(
  { exclusiveMinimum: 0, maximum: 1_000_000, default: 20 },
  'How many reference costs a good answer is worth.',
);

const HardQualityFactor = Type.Unsafe<number | 'none'>(
  Type.Union([Type.Number({ minimum: 1, maximum: 1000 }), Type.Literal('none')], {
    expected: 'a number from 1 to 1000, or `none`',
    default: 8,
    formerDefault: 'none',
    examples: [8],
    description:
      'How many times as much quality weighs in a request that is judged hard, 1 to 1000. `none`: the cost of such a request counts half.',
  }),
);

const AnswerLength = oneOfExplained({
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
});

const UnstatedLatency = oneOfExplained({
  means: {
    neutral: '1,000 ms to the first token and 50 tokens per second, for every model.',
    median: 'The medians of the catalog’s models of the same kind.',
  },
  default: 'median',
  formerDefault: 'neutral',
  examples: ['neutral'],
  description:
    'Speed of a model that states none. `median`: that of similar models. `neutral`: 1,000 ms and 50 tokens per second.',
});

const UnstatedLanguages = oneOfExplained({
  means: {
    exclude: 'Requiring it leaves no model.',
    admit: 'It is unknown of all models: requiring it leaves those that are not said to lack it.',
  },
  default: 'admit',
  formerDefault: 'exclude',
  examples: ['exclude'],
  description:
    'Effect of a required programming language that no model declares. `admit` leaves the models that do not lack it; `exclude` leaves none.',
});

const AliasPatterns = oneOfExplained({
  means: {
    unknown_names: 'A model with public figures that a wildcard serves keeps its name.',
    all_names: 'They also cover the names of models that a wildcard serves.',
  },
  default: 'unknown_names',
  formerDefault: 'all_names',
  examples: ['all_names'],
  description:
    'Names that aliases with `*` at the end cover. A model of the policy always keeps its name. `unknown_names`: so does a model with public figures that a wildcard serves.',
});

const LanguageWorth = number(
  { minimum: 0, maximum: 1, default: 0.06, formerDefault: 0.04 },
  'Quality added where a model declares a programming language of the request; half where unknown.',
);

const MetricsText = closed('What metrics tell of requests.', {
  key_label: optional.string(
    { minLength: 1, maxLength: 200, example: 'project' },
    'Label of keys that the metrics of requests and spend bear as `key_label`. At most 200 of its values are told apart.',
  ),
});

/** Every section of the language. */
export const SECTIONS = {
  version: Type.Unsafe<LanguageVersion>(
    Type.Union(
      VERSIONS.map((version) => Type.Literal(version)),
      {
        expected: '`1` or `2`',
        examples: [LATEST_VERSION],
        description: 'Version of the policy language. The versions differ in defaults alone.',
      },
    ),
  ),
  credits: CreditsText,
  gateway: GatewayText,
  records: RecordsText,
  providers: Type.Record(Type.String(), ProviderText, { description: 'Name → provider.' }),
  models: ModelsText,
  tasks: Type.Record(Type.String(), TaskText, {
    description:
      'Name → task. `general` and the other usual tasks always exist, with sizes of their own; in version 1, with those of `general`.',
  }),
  selectors: Type.Record(Type.String(), SelectorText, {
    description: 'Name → selector. `auto`, `auto-fast` and `auto-cheap` always exist.',
  }),
  default_weights: WeightsText,
  reference_price: ReferencePriceText,
  answer_worth: AnswerWorth,
  hard_quality_factor: HardQualityFactor,
  answer_length: AnswerLength,
  unstated_latency: UnstatedLatency,
  language_worth: LanguageWorth,
  unstated_languages: UnstatedLanguages,
  alias_patterns: AliasPatterns,
  constraints: Type.Array(ConstraintText, { description: 'Hard rules: they reject models and endpoints.' }),
  preferences: Type.Array(PreferenceText, { description: 'Soft rules: they raise or lower the quality of models.' }),
  budgets: Type.Array(BudgetText, { description: 'Limits on spend in windows of time.' }),
  rate_limits: Type.Array(RateLimitText, { description: 'Limits on the rate of requests.' }),
  alerts: AlertsText,
  ledger: LedgerText,
  learning: Type.Unknown({
    examples: ['off'],
    description: 'Without effect: scores no longer change the quality of models. Remove it.',
  }),
  organization: OrganizationText,
  payments: PaymentsText,
  tokens: Type.Array(TokenIssuerText, {
    description: 'Issuers of JWTs that workloads send in place of API keys.',
  }),
  plugins: Type.Array(PluginText, {
    examples: [['./plugins/thrifty.ts']],
    description: 'Plugins of your own: relative paths or package names.',
  }),
  teams: Type.Array(TeamText, { description: 'Teams. Others are made through the API.' }),
  cases: Type.Array(CaseText, { description: "The policy's own tests, run before it comes into force." }),
  metrics: MetricsText,
  public_url: PublicUrlText,
  console: ConsoleText,
  sign_in: SignInText,
  baseline: string(
    { minLength: 1, example: 'gpt-6.1-sol' },
    'Model that savings are measured against. Default: the eligible model with the best quality.',
  ),
} satisfies TProperties;
