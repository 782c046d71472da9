import { type Static, Type } from '@sinclair/typebox';
import { closed, figure, flag, optional, share, text, whole, word } from '../../core/define/fields.ts';
import {
  aliasList,
  day,
  excludes,
  ITEM_NAME,
  meaning,
  needsOneOf,
  notAMap,
  texts,
  writtenAs,
} from '../../core/define/policy-words.ts';
import { OPERATION_NAMES } from '../../core/kinds/operations.ts';
import type { SpreadMode } from '../../core/policy/spread.ts';
import { LACKED_CAPABILITIES, MODEL_CAPABILITIES } from '../../core/request/capability.ts';
import { TOKENIZERS } from '../../core/request/tokenizer.ts';
import { AbortText } from './abort.ts';
import { FallbacksText } from './fallbacks.ts';
import { PagesMaxText } from './pages.ts';
import { PriceText } from './price-text.ts';

const BASIS_OF_FIGURE = {
  measured: 'Measured with outcomes or clocks.',
  guessed: 'A guess, and stated as one.',
  unknown: 'The source is unknown. `policy check` warns about it.',
};

const SPREAD = {
  order: 'The endpoints are tried in their order in the policy.',
  weighted:
    'Each endpoint gets requests in proportion to its `weight`. The turns of a conversation stay at one endpoint.',
  least_busy: 'Of two endpoints drawn at random, the one with fewer requests in progress, relative to its limit.',
  fastest: 'The endpoint with the lowest expected time until the end of the answer.',
  cheapest: 'The endpoint with the lowest expected cost.',
} as const satisfies Record<SpreadMode, string>;

/** What a contract changes in the prices of a provider. */
export const ContractText = closed('What your contract changes in the prices of the provider.', {
  discount: figure(
    'The part of the list prices that you do not pay, 0 to 1. It applies to all prices of the provider’s models except those with `basis: own`.',
    { minimum: 0, exclusiveMaximum: 1, example: 0.12 },
  ),
});

const ENDPOINT = {
  provider: text('Name of a provider.', {
    minLength: 1,
    example: 'openai',
    ...notAMap(
      'write the name of one provider: `provider: openai`. To try several in their order, write `endpoints: [{ provider: a }, { provider: b }]` instead of `provider`',
    ),
  }),
  upstream: optional(
    text("The provider's own name for the model. Default: the ID.", { minLength: 1, example: 'gpt-5-mini' }),
  ),
  regions: texts(['eu'], 'Regions in which the endpoint runs the model, such as `eu`. Rules can read them.'),
};

const LIMITS = {
  requests_per_minute: optional(
    whole('The most requests in a minute.', { minimum: 1, maximum: 1_000_000_000, example: 600 }),
  ),
  tokens_per_minute: optional(
    whole(
      'The most tokens in a minute, input and output together. A request first counts with its estimate, and at its end with its actual usage.',
      { minimum: 1, maximum: 1_000_000_000, example: 400_000 },
    ),
  ),
  concurrent_requests: optional(
    whole('The most requests at the same time.', { minimum: 1, maximum: 1_000_000, example: 50 }),
  ),
};

const EndpointLimitsText = closed(
  'What the endpoint may be sent, as its provider allows it. Signalbox goes to another endpoint before the provider refuses. With several servers, all of them together respect the limits.',
  LIMITS,
);
export type EndpointLimitsText = Static<typeof EndpointLimitsText>;

export const KeyLimitsText = closed(
  'What each model may be sent with the key. A figure here replaces the same figure in the `limits` of the endpoint. If the variable holds several keys, each of them has these limits.',
  LIMITS,
);

export const EndpointText = closed(
  "One place that serves the model: a provider and its name for the model. If the endpoint states a price, that price replaces the model's price completely.",
  {
    ...ENDPOINT,
    price: Type.Optional(PriceText),
    after_abort: Type.Optional(AbortText),
    weight: optional(
      figure(
        'The share of requests, relative to the other endpoints with the same `priority`: of 70 and 30, the first gets 70 %. With 0, only requests that no other endpoint can take. It applies with `spread: weighted`. Default: 1.',
        { minimum: 0, maximum: 1_000_000, example: 70 },
      ),
    ),
    priority: optional(
      whole(
        'The number of the endpoint’s group. While an endpoint of the group with the lowest number can take a request, no other group gets it. Default: 0.',
        { minimum: 0, maximum: 1000, example: 1 },
      ),
    ),
    limits: Type.Optional(EndpointLimitsText),
  },
);

const LatencyText = closed('Speed of the model, which applies until Signalbox has measured it.', {
  ttft_ms: optional(
    figure(
      'Median milliseconds to the first content, for a request with the usual `reasoning_tokens`. Default: see `unstated_latency`.',
      { minimum: 0, maximum: 3_600_000, example: 600 },
    ),
  ),
  cached_ttft_ms: optional(
    figure(
      'Median milliseconds to the first content if most of the input is in the provider’s cache. Default: `ttft_ms`.',
      { minimum: 0, maximum: 3_600_000, example: 350 },
    ),
  ),
  output_tokens_per_second: optional(
    figure('Median rate of visible output, in tokens per second. Default: see `unstated_latency`.', {
      exclusiveMinimum: 0,
      maximum: 100_000,
      example: 110,
    }),
  ),
  basis: word(BASIS_OF_FIGURE, 'Source of the figures.', { default: 'unknown', example: 'measured' }),
  as_of: Type.Optional(day('Date of the newest measurement.')),
});

const QualityText = Type.Object(
  {
    default: share('Share of good answers for tasks without a figure of their own, 0 to 1.', 0.78),
    basis: word(BASIS_OF_FIGURE, 'Source of the figures.', { default: 'unknown', example: 'guessed' }),
    as_of: Type.Optional(day('Date of the newest evidence.')),
  },
  {
    additionalProperties: share('Share of good answers for the task, 0 to 1.', 0.78),
    description: 'Share of good answers, by task.',
    ...writtenAs('default: {value}'),
  },
);

const REASONING = 'Expected hidden reasoning tokens';
const tokenCount = (description: string) => whole(description, { minimum: 0, maximum: 1_000_000, example: 600 });

const ReasoningText = Type.Object(
  { default: tokenCount(`${REASONING} in tasks without a figure of their own.`) },
  { additionalProperties: tokenCount(`${REASONING} in a task.`), description: `${REASONING}, by task.` },
);

const DEADLINE = { minimum: 1, maximum: 86_400_000 };

const DeadlinesText = closed(
  'Time limits of a call to the model.',
  {
    connect_ms: whole(
      'Milliseconds until the connection is open, with DNS and TLS. They are part of `first_token_ms`.',
      { ...DEADLINE, default: 5_000 },
    ),
    first_token_ms: optional(
      whole('Milliseconds to the first token. Default: 20000, or 4 × `ttft_ms` if that is more.', {
        ...DEADLINE,
        example: 20_000,
      }),
    ),
    idle_ms: whole('The longest pause between two tokens, in milliseconds.', { ...DEADLINE, default: 30_000 }),
    total_ms: whole('Milliseconds from the admission of the request to the end of the answer.', {
      ...DEADLINE,
      default: 300_000,
    }),
  },
  { default: {} },
);

const atLeastOne = (description: string, example: number) =>
  whole(description, { minimum: 1, maximum: 100_000_000, example });

/** Signalbox splits embedding calls to fit this limit. 96 texts is the lowest limit among the large services. */
const BATCH_INPUTS = 96;

const EmbeddingText = closed('Embedding properties of a model with the operation `embed`.', {
  dimensions: whole('Length of a vector: how many numbers it has.', { minimum: 1, maximum: 65_536, example: 1536 }),
  shortest: optional(
    whole(
      'How many numbers a vector must keep if a request shortens it. Default: all, so vectors cannot be shortened.',
      { minimum: 1, maximum: 65_536, example: 256 },
    ),
  ),
  vector_space: optional(
    text(
      'Name of the vector space. Vectors of one space can be compared, so models of one space can replace each other. Default: a space that no other model shares.',
      { ...ITEM_NAME, example: 'text-embedding-3-small' },
    ),
  ),
  batch_inputs: whole('The most texts in one call. Signalbox splits longer requests.', {
    minimum: 1,
    maximum: 100_000,
    default: BATCH_INPUTS,
    example: 2048,
  }),
  batch_tokens: optional(
    whole('The most tokens in one call. Default: no limit.', { minimum: 1, maximum: 100_000_000, example: 300_000 }),
  ),
});

const MODEL = {
  provider: Type.Optional(ENDPOINT.provider),
  upstream: ENDPOINT.upstream,
  regions: ENDPOINT.regions,
  endpoints: Type.Optional(
    Type.Array(EndpointText, {
      minItems: 1,
      maxItems: 64,
      description: 'Endpoints that serve the model. `spread` says in which order they are tried.',
    }),
  ),
  spread: Type.Optional(
    word(SPREAD, 'How requests are spread over the endpoints.', { default: 'order', example: 'weighted' }),
  ),
  fallbacks: FallbacksText,
  price: Type.Optional(PriceText),
  context_window: atLeastOne(
    'The most tokens of input and output together; for an embedding model, the most tokens of one text.',
    400_000,
  ),
  max_output: atLeastOne('The most output tokens of an answer.', 128_000),
  default_max_output: Type.Optional(
    atLeastOne(
      'Cap on the output tokens of a request that states none. Default: `max_output`, but at most 4096.',
      4096,
    ),
  ),
  operations: Type.Array(word(OPERATION_NAMES, 'An operation that callers can request.', 'chat'), {
    minItems: 1,
    uniqueItems: true,
    default: ['chat'],
    examples: [['chat']],
    description: 'Operations that the model serves.',
  }),
  capabilities: Type.Array(
    word(MODEL_CAPABILITIES, 'A feature that the model has.', {
      example: 'tools',
      hints: {
        ...meaning('tools', 'function_calling function_call functions tool_calling tool_use tool_choice'),
        ...meaning('vision', 'image images image_input multimodal'),
        ...meaning('json_schema', 'structured_outputs structured_output response_format response_schema'),
        ...meaning('json_mode', 'json json_object'),
        ...meaning('reasoning', 'thinking'),
        ...meaning('audio_input', 'audio'),
        ...meaning('file_input', 'pdf pdf_input file files documents'),
        ...Object.fromEntries(
          ['streaming', 'stream', 'chat', 'text', 'completion'].map((word) => [
            word,
            `remove \`${word}\`: every model that answers chats has it`,
          ]),
        ),
      },
    }),
    {
      default: [],
      examples: [['tools', 'vision']],
      description: 'Features that the model has. Requests that need another feature go to other models.',
    },
  ),
  lacks: Type.Array(word(LACKED_CAPABILITIES, 'A feature that requests for this model cannot use.', 'seed'), {
    default: [],
    examples: [['seed', 'logit_bias']],
    description:
      'Features of its provider’s API that the model does not support. Requests that need one of them go to other models.',
  }),
  embedding: Type.Optional(EmbeddingText),
  languages: texts(
    ['python', 'typescript'],
    'Programming languages that the model supports. Aliases such as `js` work.',
    64,
  ),
  lacks_languages: texts(
    ['cobol'],
    'Programming languages that the model does not support. A language in neither list is unknown.',
    64,
  ),
  aliases: aliasList(
    'Other names of the model that callers may send. With `*` at its end, an alias covers all names that begin with it, except names that exist.',
    'claude-local',
  ),
  tags: texts(['local'], 'Your own marks for the model, which rules can read.', 64),
  family: optional(
    text(
      'Name of the model family. Models of one family receive each other’s signed or encrypted reasoning. Default: a family that no other model shares.',
      { minLength: 1, maxLength: 64, example: 'claude' },
    ),
  ),
  tokenizer: Type.Optional(
    word(
      TOKENIZERS,
      'Tokenizer that counts the input exactly. Signalbox uses it if a request would be refused based on an estimate. Set it only if the vendor names it.',
      'o200k_base',
    ),
  ),
  temperature: flag('`false`: the model refuses the field `temperature`, so Signalbox leaves it out.', {
    default: true,
    example: false,
  }),
  reasoning_tokens: Type.Union([tokenCount(REASONING), ReasoningText], {
    default: 0,
    examples: [600, { default: 400, chat: 60, math: 1800 }],
    expected: 'a whole number, or `default` and tasks with a number each',
    description: `${REASONING}, which count in the expected cost and latency: one figure, or one for each task.`,
  }),
  page_tokens_max: Type.Optional(
    atLeastOne(
      'The most tokens of a PDF page. If this or `pages_max` is not stated, a request with PDFs has no upper bound, so it cannot draw on a budget or balance.',
      7800,
    ),
  ),
  pages_max: Type.Optional(PagesMaxText),
  image_tokens_max: Type.Optional(
    atLeastOne(
      'The most tokens of an image. Without this figure, a request with images cannot have a hard limit, so it cannot draw on a budget or balance.',
      1600,
    ),
  ),
  audio_tokens_per_second_max: Type.Optional(
    atLeastOne(
      'The most tokens of a second of audio. Without this figure, a request with audio cannot have a hard limit, so it cannot draw on a budget or balance.',
      32,
    ),
  ),
  latency: Type.Optional(LatencyText),
  quality: QualityText,
  deadlines: DeadlinesText,
  released: Type.Optional(day('Date of the release.')),
  deprecated: Type.Optional(
    day(
      'Date on which the provider deprecated the model. `GET /v1/models` then lists it as `deprecated`. Requests still reach it.',
    ),
  ),
};
const DESCRIPTION =
  'A model to which requests can be routed. For a single endpoint, state `provider`, `upstream` and `regions` directly instead of `endpoints`.';

export const MODEL_RULES = {
  ...needsOneOf('provider', 'endpoints'),
  ...excludes('endpoints', 'provider', 'upstream', 'regions'),
};

/** A model that answers conversations. */
export const ModelText = closed(DESCRIPTION, MODEL, MODEL_RULES);
export type ModelText = Static<typeof ModelText>;

/** A model that only embeds. An embedding model writes no answers, and models of one vector space count as equally good. */
export const EmbeddingModelText = closed(DESCRIPTION, {
  ...MODEL,
  max_output: Type.Integer({ ...MODEL.max_output, minimum: 0, default: 0 }),
  quality: Type.Object(QualityText.properties, {
    additionalProperties: share('Share of good answers in a task.', 0.78),
    default: { default: 1, basis: 'guessed' },
  }),
});
