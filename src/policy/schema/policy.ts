import { type Static, Type } from '@sinclair/typebox';
import { closed, figure, flag, optional, text, whole, word } from '../../core/define/fields.ts';
import {
  aliasList,
  excludes,
  listedIn,
  needsOneOf,
  notAMap,
  texts,
  VARIABLE_NAME,
  writtenAs,
} from '../../core/define/policy-words.ts';
import { DROPPABLE_NAMES } from '../../core/request/droppable.ts';
import { AbortText } from './abort.ts';
import { FallbacksText } from './fallbacks.ts';
import { ADMISSION_KEYS, CorsText } from './limits.ts';
import { KeyLimitsText } from './model.ts';
import { PagesMaxText } from './pages.ts';
import { SelectorModelsText } from './rules.ts';
import { TiersText } from './tiers.ts';

/**
 * The policy language: one schema for the check, the static types and the JSON Schema of editors. A policy may leave out a key with a
 * `default`. The type of such a key is nevertheless not optional, because defaults are filled in before the check.
 */

const bounds = (fields: readonly string[], what: string) =>
  fields.map((field): [string, string] => [
    field,
    `\`${field}\` ${what}: without it the caller would get a different answer than requested, so Signalbox never drops it`,
  ]);

/** Maps fields that a policy cannot drop to the reason. */
const NEVER_DROPPED: Readonly<Record<string, string>> = Object.fromEntries([
  ...bounds(['max_tokens', 'max_completion_tokens', 'n', 'max_tool_calls'], 'limits the cost of the answer'),
  ...bounds(['stop', 'tools', 'tool_choice'], 'limits the content of the answer'),
  ...bounds(['response_format'], 'states the format of the answer'),
]);

export const GatewayText = closed('Limits and behaviour of the whole gateway.', {
  body_bytes_max: whole('The largest request body, in bytes.', {
    minimum: 1024,
    maximum: 1_073_741_824,
    default: 10_485_760,
  }),
  messages_max: whole('The most messages in a request.', { minimum: 1, maximum: 100_000, default: 2048 }),
  turns_bytes_max: whole(
    'The most memory, in bytes, for the last bodies of running conversations, so that the next turn of a conversation costs less. 0 keeps none. Signalbox drops them while request bodies need much memory.',
    { minimum: 0, maximum: 1_099_511_627_776, default: 67_108_864 },
  ),
  tools_max: whole('The most tools in a request.', { minimum: 0, maximum: 10_000, default: 256 }),
  commit_after_ms: whole(
    'How many milliseconds a stream waits for its first content before it sends status 200 and heartbeats.',
    { minimum: 0, maximum: 600_000, default: 15_000 },
  ),
  failed_streams: word(
    {
      break:
        'After the error event, Signalbox breaks the connection, so that no client mistakes the partial answer for a complete one.',
      end: 'The body ends normally after the error event. Some clients mistake the partial answer for a complete one.',
    },
    'How a stream of `/v1/chat/completions` ends if it fails after its headers. `break`: Signalbox sends the error event and breaks the connection 250 ms later. `end`: the body ends normally after the error event.',
    { default: 'break', example: 'end' },
  ),
  websockets: flag('Whether `/v1/responses` also accepts WebSocket connections. Otherwise it answers 426.', {
    default: true,
    example: false,
  }),
  socket_bytes_max: whole(
    'The largest WebSocket frame, in bytes; at most `body_bytes_max`. A change applies after a restart. Each connection uses this many bytes of `bodies_bytes_max`.',
    { minimum: 1024, maximum: 1_073_741_824, default: 1_048_576 },
  ),
  alternatives: whole(
    'How many next best models a decision keeps, as `alternatives` of a recommendation or as fallbacks.',
    { minimum: 0, maximum: 16, default: 3 },
  ),
  retries_max: whole(
    'The most retries of one request over all endpoints. The first attempt at an endpoint does not count. Retry budgets also apply.',
    { minimum: 0, maximum: 10, default: 2 },
  ),
  tool_uses_max: whole(
    'The most uses of a tool that the provider runs, such as web search, in one answer, if the request states no figure.',
    { minimum: 0, maximum: 100, default: 5 },
  ),
  passthrough_tools: texts(
    ['code_execution_20250825'],
    'Kinds of provider tools that Signalbox allows in requests paid from a budget or balance although it knows no price for them. You bear the cost of such tools beyond the tokens.',
  ),
  drop_tools: texts(
    ['web_search'],
    'Kinds of provider tools that Signalbox removes from requests which also offer other tools, so that models without these tools stay eligible. `platform.dropped` lists removed tools. A tool that a request forces, or that is its only tool, stays.',
  ),
  drop_unsupported: Type.Array(
    word(DROPPABLE_NAMES, 'A request field that Signalbox can leave out without changing the form of the answer.', {
      example: 'seed',
      hints: NEVER_DROPPED,
    }),
    {
      default: [],
      examples: [['seed', 'presence_penalty']],
      description:
        'Fields that exclude no model: if the chosen model does not support such a field, Signalbox drops the field and lists it in `platform.dropped` and in the header `x-signalbox-dropped`. Requests with other fields go only to models that support them.',
    },
  ),
  output_above_maximum: word(
    {
      cap: 'The output is capped at the model’s `max_output`. A selector leaves the model out if the expected answer is longer.',
      refuse: 'The model is left out. A request that names it is refused with 422.',
    },
    'What happens if the `max_tokens` of a request exceeds the `max_output` of a model. `cap` sends the model’s maximum instead; `refuse` leaves the model out.',
    { default: 'cap', example: 'refuse' },
  ),
  repeats_in_flight: word(
    {
      wait: 'The repeat waits until the first request ends, and then gets its answer.',
      refuse: 'The repeat is refused with 409 `in_flight`.',
    },
    'What happens to a repeat with the same `Idempotency-Key` while the first request is running. `wait`: it waits for the answer, at most as long as the longest `total_ms` of any model. `refuse`: it gets 409 `in_flight`.',
    { default: 'wait', example: 'refuse' },
  ),
  forced_tools: word(
    {
      adapt:
        'Signalbox sends the parameters of the function as the JSON schema of the answer, and returns the answer as a tool call.',
      refuse: 'The model is left out. A request that names it is refused with 422.',
    },
    'What happens if a request forces a call of one function and a model refuses a forced `tool_choice`. `adapt` sends the function’s parameters as the JSON schema of the answer, if the model has the capability `json_schema`, and returns the answer as a tool call. `refuse` leaves the model out.',
    { default: 'adapt', example: 'refuse' },
  ),
  request_fallbacks: flag(
    'Whether a request of `/v1/chat/completions` or `/v1/responses` can list the models to try next, in `fallbacks` or `models`. Otherwise these fields count as unknown fields.',
    { default: true, example: false },
  ),
  time_zone: text('IANA time zone in which rules read `time`.', {
    minLength: 1,
    maxLength: 64,
    default: 'UTC',
    example: 'Europe/Berlin',
  }),
  allow_private_image_urls: flag(
    'Allows URLs of images and files in private networks. Signalbox itself never fetches these URLs; providers do.',
    { default: false, example: true },
  ),
  cors: CorsText,
  ...ADMISSION_KEYS,
});
export type GatewayText = Static<typeof GatewayText>;

const KeyText = closed('A variable with a key of the provider, or with several keys, one a line.', {
  api_key_env: text('Name of the environment variable that holds the key, never the key itself.', {
    ...VARIABLE_NAME,
    example: 'OPENAI_API_KEY',
  }),
  account: optional(
    text(
      "The account at the provider that the key belongs to. Keys of the same account share the provider's prompt cache, and can continue each other's conversations. Default: an account of its own.",
      { minLength: 1, maxLength: 64, example: 'main' },
    ),
  ),
  weight: optional(
    whole('The share of requests, relative to the other keys: with 2, twice as many. Default: 1.', {
      minimum: 1,
      maximum: 1000,
      example: 2,
    }),
  ),
  label: optional(
    text(
      'The name of the key in logs, metrics and lists, never the key itself. If the variable holds several keys, the number of the line follows. Default: the name of the variable.',
      { pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', example: 'team-a' },
    ),
  ),
  limits: Type.Optional(KeyLimitsText),
});

const PROVIDER = {
  adapter: optional(
    text('The plugin that speaks the provider’s API. Not needed with `preset`.', {
      minLength: 1,
      example: 'openai-compatible',
    }),
  ),
  preset: optional(
    text(
      'A known service. The preset supplies its adapter, address, key variable and settings. Keys that you state here override the preset.',
      { minLength: 1, example: 'groq' },
    ),
  ),
  base_url: optional(
    text('Base URL of the API. Signalbox appends the path of each call.', 'https://api.openai.com/v1'),
  ),
  base_url_env: optional(
    text(
      'Name of the environment variable that holds the base URL. While it is not set, Signalbox leaves the provider out.',
      { ...VARIABLE_NAME, example: 'OLLAMA_BASE_URL' },
    ),
  ),
  api_key_env: optional(
    text(
      'Name of the environment variable that holds the API key, never the key itself. While it is not set, Signalbox leaves the provider out.',
      {
        ...VARIABLE_NAME,
        ...listedIn('api_keys_env'),
        ...notAMap(
          'write the name of an environment variable of the server: `api_key_env: OPENAI_API_KEY`. On Kubernetes, the manifest of the server sets this variable with `secretKeyRef`',
        ),
        example: 'OPENAI_API_KEY',
      },
    ),
  ),
  api_keys_env: Type.Optional(
    Type.Array(
      Type.Union([text('Name of the environment variable.', { ...VARIABLE_NAME, example: 'OPENAI_API_KEY' }), KeyText]),
      {
        minItems: 1,
        maxItems: 64,
        examples: [['OPENAI_API_KEY', 'OPENAI_API_KEY_2']],
        description:
          'Several keys of the provider, which take turns: names of environment variables, each with one key or with one key a line. Signalbox leaves out a variable that is not set, and the provider if none is set.',
      },
    ),
  ),
  allow_private_network: flag(
    'Allows a host name that resolves to this machine or a private network. `localhost` and numeric addresses need no permission.',
    { default: false, example: true },
  ),
  passthrough: texts(
    ['verbosity'],
    'Request fields that Signalbox does not know and passes on to the provider; `"*"` for all.',
  ),
  cache_ttl_s: figure('How many seconds the provider caches a prompt after its last use; 0 for no cache.', {
    minimum: 0,
    maximum: 86_400,
    default: 300,
  }),
  cache_min_tokens: whole('The shortest prompt that the provider caches, in tokens.', {
    minimum: 1,
    maximum: 10_000_000,
    default: 1024,
  }),
  after_abort: Type.Optional(AbortText),
  pages_max: Type.Optional(PagesMaxText),
  serve: word(
    { always: 'At any time.', when_alone: 'Only while no other provider can serve any model.' },
    'When the provider serves. `always`: at any time. `when_alone`: only while no other provider can serve any model.',
    { default: 'always', example: 'when_alone' },
  ),
  discover: Type.Optional(
    word(
      {
        off: 'Signalbox does not poll the server.',
        serve:
          'Each model of the server is served by name, as `PROVIDER/NAME`. Selectors choose from these models only while no declared model can answer chats.',
        choose: 'Each model of the server is served by name, and selectors choose from these models like all others.',
      },
      'Whether Signalbox finds the models of the server itself. Default: `serve` for the presets `ollama`, `llama-cpp`, `lm-studio` and `vllm`; otherwise `off`.',
      'choose',
    ),
  ),
  serves: Type.Optional(
    Type.Literal('*', {
      examples: ['*'],
      description:
        '`"*"` serves any model that the provider has, as `NAME/ID`. A model with public figures is also served as `ID`.',
    }),
  ),
  settings: Type.Record(Type.String(), Type.Unknown(), {
    default: {},
    examples: [{ max_tokens_field: 'max_completion_tokens' }],
    description: "The adapter's own settings. The adapter's schema checks them.",
  }),
};
export const ProviderText = closed('A service or server that runs models.', PROVIDER, {
  ...needsOneOf('adapter', 'preset'),
  ...writtenAs('preset: {value}'),
  dependencies: {
    ...excludes('base_url', 'base_url_env').dependencies,
    ...excludes('api_key_env', 'api_keys_env').dependencies,
  },
});
export type ProviderText = Static<typeof ProviderText>;

const tokenCount = (description: string, example: number) =>
  whole(description, { minimum: 1, maximum: 10_000_000, example });

export const TaskText = closed('A kind of request, with its usual sizes.', {
  expected_output_tokens: tokenCount('Usual length of the visible output, in tokens.', 400),
  default_input_tokens: tokenCount('Input size of a route query that states none, in tokens.', 500),
  min_useful_output: whole('Length of the shortest useful answer, in tokens.', {
    minimum: 1,
    maximum: 1_000_000,
    default: 64,
  }),
});

export const SelectorText = closed(
  'A name that callers send as `model` to leave the choice to the gateway.',
  {
    strategy: text('Name of the strategy plugin that orders or scores the models.', {
      minLength: 1,
      example: 'auto',
      ...notAMap(
        'write the name of a strategy: `strategy: auto`. Choices by condition are rules: `constraints: [{ name: paid, when: key.labels.plan == "paid", require: model.id == "NAME" }]`. To divide requests by shares, write `spread: weighted, endpoints: [{ provider: …, weight: 7 }, { provider: …, weight: 3 }]` in a model',
      ),
    }),
    options: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      examples: [{ margin: 0.05 }],
      description: "The strategy's options. The strategy's schema checks them.",
    }),
    models: Type.Optional(SelectorModelsText),
    tiers: TiersText,
    fallbacks: FallbacksText,
    vector_space: optional(
      text(
        'The vector space whose embedding models the selector chooses from. Without it, the selector serves no embeddings.',
        { minLength: 1, maxLength: 128, example: 'text-embedding-3-small' },
      ),
    ),
    aliases: aliasList(
      'Other names of the selector that callers may send. If an alias is the ID or an alias of a model, the selector replaces that model while the model cannot be served.',
      'claude-auto',
    ),
  },
  writtenAs(`strategy: auto, models: { require: 'model.id in ["NAME"]' }`),
);
export type SelectorText = Static<typeof SelectorText>;
