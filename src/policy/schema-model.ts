import { type Static, Type } from '@sinclair/typebox';
import { LACKED_CAPABILITIES, MODEL_CAPABILITIES } from '../core/capability.ts';
import { OPERATION_NAMES } from '../core/operation.ts';
import { TOKENIZERS } from '../core/tokenizer.ts';
import { AbortText } from './schema-abort.ts';
import { PagesMaxText } from './schema-pages.ts';
import {
  aliasList,
  boolean,
  closed,
  closedOrEmpty,
  day,
  excludes,
  ITEM_NAME,
  integer,
  needsOneOf,
  number,
  oneOf,
  oneOfExplained,
  optional,
  string,
  texts,
} from './schema-parts.ts';

const BASIS_OF_PRICE = {
  'vendor-list': "The vendor's own list.",
  aggregator: 'A list that others keep of many vendors.',
  own: 'What you pay, by contract or because it is yours.',
  unverified: 'Nobody says. `policy check` tells of it.',
};
const BASIS_OF_FIGURE = {
  measured: 'By outcomes or clocks.',
  guessed: 'By somebody who says so.',
  unknown: 'Nobody says. `policy check` tells of it.',
};

/** The schema checks numbers. `readPrice` reads exact decimals from the text. */
const usd = (description: string, example: number) => number({ minimum: 0, maximum: 100_000, example }, description);

const LINE = {
  input: usd('USD per 1M input tokens.', 0.25),
  cached_input: Type.Optional(usd('USD per 1M input tokens read from the cache. Default: `input`.', 0.025)),
  cache_write: Type.Optional(usd('USD per 1M input tokens written to the cache. Default: `input`.', 0.3)),
  cache_write_1h: Type.Optional(
    usd('USD per 1M input tokens written to the cache for an hour. Default: no price, so no fund pays for them.', 0.5),
  ),
  output: usd('USD per 1M output tokens, hidden reasoning included.', 2),
};

const TierText = closed('A price that depends on the length of the input.', {
  over_input_tokens: integer(
    { minimum: 1, maximum: 100_000_000, example: 200_000 },
    'Requests with more input tokens than this are billed wholly by this tier.',
  ),
  ...LINE,
});

export const PriceText = closed('Price, in USD per 1M tokens.', {
  ...LINE,
  per_request: optional.number({ minimum: 0, maximum: 1000, example: 0.005 }, 'USD per request.'),
  tool_uses: Type.Optional(
    Type.Record(Type.String({ minLength: 1 }), number({ minimum: 0, maximum: 1000, example: 0.01 }, 'USD per use.'), {
      description: 'Prices of the tools that the service runs itself, by name, such as `web_search`.',
    }),
  ),
  tiers: Type.Array(TierText, { default: [], maxItems: 16, description: 'Prices of long inputs, ascending.' }),
  as_of: Type.Optional(day('Day on which the price was seen.')),
  basis: oneOfExplained({
    means: BASIS_OF_PRICE,
    default: 'unverified',
    examples: ['vendor-list'],
    description: 'Source of the price.',
  }),
});
export type PriceText = Static<typeof PriceText>;

const ENDPOINT = {
  provider: string({ minLength: 1, example: 'openai' }, 'Name of a provider.'),
  upstream: optional.string(
    { minLength: 1, example: 'gpt-5-mini' },
    "The provider's name for the model. Default: the ID.",
  ),
  regions: texts(['eu'], 'Where the endpoint computes.'),
};

export const EndpointText = closed("A place that serves the model. Its own price replaces the model's, whole.", {
  ...ENDPOINT,
  price: Type.Optional(PriceText),
  after_abort: Type.Optional(AbortText),
});

const LatencyText = closed('Speed of the model until the gateway has measured it.', {
  ttft_ms: optional.number(
    { minimum: 0, maximum: 3_600_000, example: 600 },
    'Median milliseconds to the first content, with the usual `reasoning_tokens`. Default: by `unstated_latency`.',
  ),
  cached_ttft_ms: optional.number(
    { minimum: 0, maximum: 3_600_000, example: 350 },
    'Median milliseconds to the first content with most of the input in the provider’s cache. Default: `ttft_ms`.',
  ),
  output_tokens_per_second: optional.number(
    { exclusiveMinimum: 0, maximum: 100_000, example: 110 },
    'Median rate of visible output. Default: by `unstated_latency`.',
  ),
  basis: oneOfExplained({
    means: BASIS_OF_FIGURE,
    default: 'unknown',
    examples: ['measured'],
    description: 'Source of the figures.',
  }),
  as_of: Type.Optional(day('Day of the newest measurement.')),
});

const share = (description: string) => number({ minimum: 0, maximum: 1, example: 0.78 }, description);

const QualityText = Type.Object(
  {
    default: share('Share of good answers for tasks without a figure of their own, 0 to 1.'),
    basis: oneOfExplained({
      means: BASIS_OF_FIGURE,
      default: 'unknown',
      examples: ['guessed'],
      description: 'Source of the figures.',
    }),
    as_of: Type.Optional(day('Day of the newest evidence.')),
  },
  {
    additionalProperties: share('Share of good answers in a task.'),
    description: 'Share of good answers, by task.',
  },
);

const REASONING = 'Expected hidden reasoning tokens';
const tokens = (description: string) => integer({ minimum: 0, maximum: 1_000_000, example: 600 }, description);

const ReasoningText = Type.Object(
  { default: tokens(`${REASONING} in tasks without a figure of their own.`) },
  { additionalProperties: tokens(`${REASONING} in a task.`), description: `${REASONING}, by task.` },
);

const DEADLINE = { minimum: 1, maximum: 86_400_000 };

const DeadlinesText = closedOrEmpty('Time limits of a call.', {
  connect_ms: integer(
    { ...DEADLINE, default: 5_000 },
    'Milliseconds to a connection, with DNS and TLS; part of `first_token_ms`.',
  ),
  first_token_ms: optional.integer(
    { ...DEADLINE, example: 20_000 },
    'Milliseconds to the first token. Default: 20000, or 4 × `ttft_ms` if more.',
  ),
  idle_ms: integer({ ...DEADLINE, default: 30_000 }, 'Milliseconds between two tokens.'),
  total_ms: integer({ ...DEADLINE, default: 300_000 }, 'Milliseconds from admission to the end.'),
});

const count = (description: string, example: number) =>
  integer({ minimum: 1, maximum: 100_000_000, example }, description);

/** Calls are split to fit: 96 texts are the least that a large service takes. */
const BATCH_INPUTS = 96;

const EmbeddingText = closed('The vectors of a model with the operation `embed`.', {
  dimensions: integer({ minimum: 1, maximum: 65_536, example: 1536 }, 'How many numbers a vector has.'),
  shortest: optional.integer(
    { minimum: 1, maximum: 65_536, example: 256 },
    'How many numbers a vector must keep when a request shortens it. Default: all.',
  ),
  vector_space: optional.string(
    { ...ITEM_NAME, example: 'text-embedding-3-small' },
    'Models of one vector space give vectors that can be compared, so one may stand in for another. Default: a space of its own.',
  ),
  batch_inputs: integer(
    { minimum: 1, maximum: 100_000, default: BATCH_INPUTS, example: 2048 },
    'Most texts of one call. Longer requests are split.',
  ),
  batch_tokens: optional.integer(
    { minimum: 1, maximum: 100_000_000, example: 300_000 },
    'Most tokens of one call. Default: no limit.',
  ),
});

const MODEL = {
  provider: Type.Optional(ENDPOINT.provider),
  upstream: ENDPOINT.upstream,
  regions: ENDPOINT.regions,
  endpoints: Type.Optional(
    Type.Array(EndpointText, {
      minItems: 1,
      maxItems: 32,
      description: 'Places that serve the model, tried in this order.',
    }),
  ),
  price: Type.Optional(PriceText),
  context_window: count('Tokens of input and output together; for embeddings, of one text.', 400_000),
  max_output: count('Most output tokens.', 128_000),
  default_max_output: Type.Optional(count('Output cap of a request without one. Default: at most 4096.', 4096)),
  operations: Type.Array(
    oneOf(OPERATION_NAMES, { examples: ['chat'], description: 'An operation that callers ask for.' }),
    {
      minItems: 1,
      uniqueItems: true,
      default: ['chat'],
      examples: [['chat']],
      description: 'Operations that the model serves.',
    },
  ),
  capabilities: Type.Array(oneOf(MODEL_CAPABILITIES, { examples: ['tools'], description: 'A feature of the model.' }), {
    default: [],
    examples: [['tools', 'vision']],
    description: 'Features of the model.',
  }),
  lacks: Type.Array(
    oneOf(LACKED_CAPABILITIES, {
      examples: ['seed'],
      description: 'A feature that requests for this model cannot use.',
    }),
    {
      default: [],
      examples: [['seed', 'logit_bias']],
      description:
        'Features of its provider’s API that the model does not take. Requests that need one go to other models.',
    },
  ),
  embedding: Type.Optional(EmbeddingText),
  languages: texts(['python', 'typescript'], 'Programming languages that it handles; aliases are known.', 64),
  lacks_languages: texts(
    ['cobol'],
    'Programming languages that it does not handle. One in neither list is unknown.',
    64,
  ),
  aliases: aliasList(
    'Other names of the model, which callers may send, too; with `*` at the end, all that begin so and are no names.',
    'claude-local',
  ),
  tags: texts(['local'], 'Your own marks, for rules.', 64),
  family: optional.string(
    { minLength: 1, maxLength: 64, example: 'claude' },
    'Models of one family receive each other’s signed or encrypted reasoning. Default: a family of its own.',
  ),
  tokenizer: Type.Optional(
    oneOf(TOKENIZERS, {
      examples: ['o200k_base'],
      description:
        'Tokenizer that counts the input exactly where an estimate would refuse the request. Set it only if the vendor names it.',
    }),
  ),
  temperature: boolean(
    { default: true, example: false },
    '`false`: the model refuses a temperature, so it is dropped.',
  ),
  reasoning_tokens: Type.Union([tokens(REASONING), ReasoningText], {
    default: 0,
    examples: [600, { default: 400, chat: 60, math: 1800 }],
    expected: 'a whole number, or `default` and tasks with one each',
    description: `${REASONING}, part of cost and latency: one figure, or one for each task.`,
  }),
  page_tokens_max: Type.Optional(
    count('Most tokens of a page of a PDF. Without it and `pages_max`, no hard limit admits PDFs.', 7800),
  ),
  pages_max: Type.Optional(PagesMaxText),
  image_tokens_max: Type.Optional(count('Most tokens of an image. Without it, no hard limit admits images.', 1600)),
  audio_tokens_per_second_max: Type.Optional(
    count('Most tokens of a second of audio. Without it, no hard limit admits audio.', 32),
  ),
  latency: Type.Optional(LatencyText),
  quality: QualityText,
  deadlines: DeadlinesText,
  released: Type.Optional(day('Day of its release.')),
  deprecated: Type.Optional(
    day(
      'Day on which its provider deprecated it. `GET /v1/models` then lists it as `deprecated`; requests still reach it.',
    ),
  ),
};
const DESCRIPTION =
  'A model that requests can be routed to. Short form for one endpoint: `provider`, `upstream`, `regions`.';

export const MODEL_RULES = {
  ...needsOneOf('provider', 'endpoints'),
  ...excludes('endpoints', 'provider', 'upstream', 'regions'),
};

/** A model that answers conversations. */
export const ModelText = closed(DESCRIPTION, MODEL, MODEL_RULES);
export type ModelText = Static<typeof ModelText>;

/** A model that only embeds: it writes nothing, and models of one vector space are as good as each other. */
export const EmbeddingModelText = closed(DESCRIPTION, {
  ...MODEL,
  max_output: Type.Integer({ ...MODEL.max_output, minimum: 0, default: 0 }),
  quality: Type.Object(QualityText.properties, {
    additionalProperties: share('Share of good answers in a task.'),
    default: { default: 1, basis: 'guessed' },
  }),
});
