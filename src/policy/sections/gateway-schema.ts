import { type Static, Type } from '@sinclair/typebox';
import { closed, flag, text, whole, word } from '../../core/define/fields.ts';
import { texts } from '../../core/define/policy-words.ts';
import { DROPPABLE_NAMES } from '../../core/request/droppable.ts';

const perMinute = (fallback: number, description: string) =>
  whole(description, { minimum: 1, maximum: 1_000_000, default: fallback });

const CorsText = Type.Optional(
  closed('Web pages that may call this gateway from a browser. Default: none.', {
    origins: Type.Array(
      text('Scheme, host and port, such as `https://app.example`.', { minLength: 1, maxLength: 512 }),
      {
        maxItems: 1_000,
        examples: [['https://app.example', 'http://localhost:5173']],
        description:
          'Origins whose web pages may call `/v1/…` and read the answers. They can never call the operators’ routes.',
      },
    ),
  }),
);

/** The admission limits in the section `gateway`. */
const ADMISSION_KEYS = {
  trusted_proxies: Type.Array(
    text('An address range such as 10.0.0.0/8 or fd00::/8, or a single address.', { minLength: 1, maxLength: 64 }),
    {
      maxItems: 256,
      default: [],
      examples: [['10.0.0.0/8', 'fd00::/8']],
      description:
        'Address ranges of proxies whose `X-Forwarded-For` header is trusted. The caller is the rightmost address in that header outside these ranges.',
    },
  ),
  concurrency_max: whole(
    'The most chat and route requests in progress at the same time, each until its answer or stream ends. The last tenth is reserved for callers that use less than a tenth.',
    { minimum: 1, maximum: 20_000, default: 2000 },
  ),
  bodies_bytes_max: whole(
    'The most bytes of request bodies in memory. One caller can never hold more bytes than remain free. Above the limit, requests get 503 `overloaded`.',
    { minimum: 1_048_576, maximum: 1_099_511_627_776, default: 536_870_912 },
  ),
  answers_bytes_max: whole(
    'The most bytes in memory of providers’ JSON answers, of stored answers that are sent again, and of streams that guards hold back. One caller can never hold more bytes than remain free. Above the limit, requests get 503 `overloaded`, and are charged like a request whose answer was cut off. Repeats are not charged.',
    { minimum: 1_048_576, maximum: 1_099_511_627_776, default: 268_435_456 },
  ),
  queue_max: whole('The most requests that wait to start. Above the limit, requests get 503 `overloaded`.', {
    minimum: 0,
    maximum: 10_000,
    default: 500,
  }),
  queue_ms: whole('The longest time that a request waits to start, in milliseconds.', {
    minimum: 1,
    maximum: 10_000,
    default: 1000,
  }),
  failed_auth_per_minute: perMinute(
    30,
    'The most requests a minute from one IP address that have no valid key although a key is required.',
  ),
  keyless_per_minute: perMinute(
    600,
    'The most requests a minute from one IP address to routes that require no API key. `/healthz` and `/readyz` are not counted.',
  ),
  reports_per_minute: perMinute(
    60,
    'The most requests a minute with a key that has the scope `report`. A signed-in person who is not an admin may send four times as many, and so may all browsers together that are signed in with the same `report` key. The limits in `rate_limits` do not count these requests.',
  ),
} as const;

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
