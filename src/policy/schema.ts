import { type Static, Type } from '@sinclair/typebox';
import { DROPPABLE_NAMES } from '../core/droppable.ts';
import { AbortText } from './schema-abort.ts';
import { ADMISSION_KEYS, CorsText } from './schema-limits.ts';
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
import { SelectorModelsText } from './schema-rules.ts';

/**
 * The policy language: one schema for the check, the static types and the JSON Schema of editors. A
 * key with a `default` may be left out. Its type is not optional, because defaults are filled in
 * before the check.
 */

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
