import { type Static, Type } from '@sinclair/typebox';
import type { StreamPart } from '../../contract/parts.ts';
import { Dimensions } from '../../core/api/embedding-query.ts';
import { extrasOf } from '../../core/api/extras.ts';
import { ROUTING_FIELDS, routingOf } from '../../core/api/routing-fields.ts';
import type { Receipt } from '../../core/decision/answer.ts';
import { Platform } from '../../core/decision/platform.ts';
import { list, named, openShape, shape } from '../../core/define/fields.ts';
import type { OriginalPath } from '../../core/json/original.ts';
import type { EmbeddingInput } from '../../core/request/embedding.ts';
import { type ModelRequest, modelRequest, type RequestReader } from '../../core/request/model-request.ts';
import { nullable, textMembers } from '../../core/schema/nullable.ts';
import { compileRead } from '../../core/schema/validation.ts';
import { invalid, unsupported } from '../refusals.ts';
import type { AnswerRoute, AnswerWriter } from '../surface.ts';
import { bodyWithModel, withoutPrefix } from './check.ts';
import { exampleVectors } from './examples.ts';
import { plainBody } from './plain-body.ts';
import { GEMINI_NAMES, GOOGLE_GEMINI } from './reader.ts';
import { ModelName } from './request.ts';

const TextPart = openShape({ text: Type.String({ minLength: 1 }) });
const EmbeddedContent = openShape({ parts: Type.Array(TextPart, { minItems: 1, description: 'One text.' }) });
/** The fields that Google accepts for each text. */
const OF_TEXT = {
  content: EmbeddedContent,
  outputDimensionality: nullable(Dimensions),
};
const OF_REQUEST = {
  model: nullable(ModelName),
  metadata: nullable(textMembers()),
  ...ROUTING_FIELDS,
};

const EmbedRequest = Type.Object(
  { ...OF_REQUEST, ...OF_TEXT },
  { additionalProperties: true, $id: 'EmbedContentRequest' },
);
type EmbedRequest = Static<typeof EmbedRequest>;

/** The most texts of one request, as in the other dialect of embeddings. */
const TEXTS_MAX = 2_048;
const BatchRequest = Type.Object(
  {
    ...OF_REQUEST,
    requests: Type.Array(openShape({ ...OF_TEXT, model: nullable(Type.String()) }), {
      minItems: 1,
      maxItems: TEXTS_MAX,
    }),
  },
  { additionalProperties: true, $id: 'BatchEmbedContentsRequest' },
);
type BatchRequest = Static<typeof BatchRequest>;

const checkedOne = compileRead(EmbedRequest);
const checkedBatch = compileRead(BatchRequest);

type TextToEmbed = Pick<EmbedRequest, 'content' | 'outputDimensionality'>;

/** Returns the text of a content. Several texts would be one vector at Google, and no other service has that. */
function inputOf({ content: { parts } }: TextToEmbed, at: OriginalPath): EmbeddingInput {
  const place = [...at, 'content', 'parts', 0, 'text'];
  return { type: 'text', text: parts[0]?.text ?? '', at: place };
}

function checkText({ content: { parts } }: TextToEmbed, at: string): void {
  if (parts.length > 1) throw unsupported(`${at}content.parts[1]`, `\`${at}content\` may have only one part.`);
}

const NO_TURNS = { turns: [], tools: [], toolChoice: undefined };
const NAMES = { ...GEMINI_NAMES, turns: 'content' };
const BATCH_NAMES = { ...GEMINI_NAMES, turns: 'requests', dimensions: 'requests[0].outputDimensionality' };
const COMMON = {
  dialect: GOOGLE_GEMINI,
  operation: 'embed',
  isStream: () => false,
  conversation: () => NO_TURNS,
  settings: () => ({}),
} as const;

const ONE: RequestReader<EmbedRequest> = {
  ...COMMON,
  names: () => NAMES,
  model: ({ model }) => model ?? 'auto',
  routing: (body) => routingOf(body, body.metadata),
  extras: (body) => extrasOf(body, Object.keys(EmbedRequest.properties)),
  inputs: (body) => [inputOf(body, [])],
  dimensions: (body) => body.outputDimensionality,
};

const BATCH: RequestReader<BatchRequest> = {
  ...COMMON,
  names: () => BATCH_NAMES,
  model: ({ model }) => model ?? 'auto',
  routing: (body) => ({ ...routingOf(body, body.metadata), unnamed: unnamedIn(body) }),
  extras: (body) => extrasOf(body, Object.keys(BatchRequest.properties)),
  inputs: ({ requests }) => requests.map((one, index) => inputOf(one, ['requests', index])),
  dimensions: ({ requests }) => requests[0]?.outputDimensionality,
};

const OF_BATCHED: ReadonlySet<string> = new Set([...Object.keys(OF_TEXT), 'model']);

/** Returns the members of the texts that no model gets, each name once. */
function unnamedIn({ requests }: BatchRequest): readonly string[] {
  const names = new Set(requests.flatMap((one) => Object.keys(one).filter((name) => !OF_BATCHED.has(name))));
  return [...names].map((name) => `requests[].${name}`);
}

/** @throws SignalboxError for the field at fault */
function readEmbed(body: unknown, model: string | undefined): ModelRequest {
  const read = checkedOne(plainBody(bodyWithModel(body, model)));
  checkText(read, '');
  return modelRequest(read, ONE);
}

/** @throws SignalboxError for the field at fault */
function readBatch(body: unknown, model: string | undefined): ModelRequest {
  const read = checkedBatch(plainBody(bodyWithModel(body, model)));
  const [first] = read.requests;
  for (const [at, one] of read.requests.entries()) {
    if (model !== undefined && one.model !== undefined && withoutPrefix(one.model) !== read.model)
      throw invalid(
        `requests[${at}].model`,
        `\`requests[${at}].model\` must be the model of the path, \`models/${read.model}\`.`,
      );
    checkText(one, `requests[${at}].`);
    if (one.outputDimensionality === first?.outputDimensionality) continue;
    throw invalid(`requests[${at}].outputDimensionality`, 'All requests must have the same `outputDimensionality`.');
  }
  return modelRequest(read, BATCH);
}

/** Writes the vectors of an answer. The vectors arrive in the order of the texts. */
class VectorWriter implements AnswerWriter {
  readonly #isBatch: boolean;
  #hasBegun = false;

  constructor(isBatch: boolean) {
    this.#isBatch = isBatch;
  }

  write(parts: readonly StreamPart[]): string {
    let text = '';
    for (const part of parts) {
      if (part.type !== 'embedding') continue;
      const before = this.#hasBegun ? ',' : this.#isBatch ? '{"embeddings":[' : '{"embedding":';
      this.#hasBegun = true;
      text += `${before}{"values":${JSON.stringify(part.vector)}}`;
    }
    return text;
  }

  end({ usage, platform }: Receipt): string {
    const rest = { usageMetadata: { promptTokenCount: usage.inputTokens }, platform };
    return `${this.#hasBegun ? '' : '{"embeddings":['}${this.#isBatch ? ']' : ''},${JSON.stringify(rest).slice(1)}`;
  }
}

const Vector = shape('A vector.', { values: list(Type.Number(), 'The numbers.') });
const common = {
  usageMetadata: shape('The tokens that are charged.', { promptTokenCount: Type.Integer({ examples: [8] }) }),
  platform: Platform,
};

const textOf = (word: string) => ({ content: { parts: [{ text: word }] } });

const embedRoute = (isBatch: boolean): AnswerRoute => ({
  kind: 'answer',
  operation: 'embed',
  method: 'POST',
  path: `/v1beta/models/{model}:${isBatch ? 'batchEmbedContents' : 'embedContent'}`,
  alsoAt: [`/v1/models/{model}:${isBatch ? 'batchEmbedContents' : 'embedContent'}`],
  pays: false,
  docs: {
    summary: isBatch ? 'Embed several texts, as in Gemini’s API' : 'Embed a text, as in Gemini’s API',
    description:
      'The model in the path is an embedding model, or a selector that names a `vector_space`. `taskType` and `title` reach no model unless the policy passes them on.',
    request: isBatch ? BatchRequest : EmbedRequest,
    requests: {
      simple: {
        summary: isBatch ? 'Two texts' : 'One text',
        value: isBatch
          ? { requests: [textOf('A semaphore has an arm.'), textOf('A colour light has none.')] }
          : textOf('How signals were worked.'),
      },
    },
    answer: {
      schema: isBatch
        ? named('BatchEmbedContentsResponse', 'The vectors.', {
            embeddings: list(Vector, 'One for each request.'),
            ...common,
          })
        : named('EmbedContentResponse', 'The vector.', { embedding: Vector, ...common }),
      description: 'The vectors, in the order of the texts.',
      example: exampleVectors(isBatch),
    },
    errorField: isBatch ? 'requests[0].content' : 'content',
  },
  read: ({ body, params }) => ({
    request: isBatch ? readBatch(body, params.model) : readEmbed(body, params.model),
    events: null,
  }),
  json: () => new VectorWriter(isBatch),
});

/** `:embedContent` and `:batchEmbedContents`. */
export const embedContent = embedRoute(false);
export const batchEmbedContents = embedRoute(true);
