import { type Static, Type } from '@sinclair/typebox';
import { EMBEDDING_NAMES } from '../../contract/field-names.ts';
import { Dimensions, Input, inputsOf } from '../../core/api/embedding-query.ts';
import { errorBody } from '../../core/api/error.ts';
import { ErrorBody } from '../../core/api/error-schema.ts';
import { extrasOf } from '../../core/api/extras.ts';
import { ROUTING_FIELDS, routingOf } from '../../core/api/routing-fields.ts';
import { checkSpelling } from '../../core/api/spelling.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { Conversation } from '../../core/request/conversation.ts';
import { type ModelRequest, modelRequest, type RequestReader } from '../../core/request/model-request.ts';
import { nullable, textMembers } from '../../core/schema/nullable.ts';
import { compileRead } from '../../core/schema/validation.ts';
import { OPENAI_CLIENT } from '../openai-client.ts';
import type { AnswerDocs, AnswerRoute, Surface } from '../surface.ts';
import { EmbeddingList, EmbeddingsWriter, type EncodingFormat } from './answer.ts';
import { EMBEDDINGS_ANSWER, EMBEDDINGS_REQUESTS } from './examples.ts';

/**
 * The request of OpenAI's embeddings, with Signalbox's additions. The schema of the request is its check, its static type and its
 * documentation.
 */
const EmbeddingsRequest = Type.Object(
  {
    model: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'The ID of an embedding model, or a selector with a `vector_space`.',
    }),
    input: Input,
    dimensions: nullable(Dimensions),
    encoding_format: nullable(
      Type.Union([Type.Literal('float'), Type.Literal('base64')], {
        description: '`float` (default), or `base64` for little-endian 32-bit floats.',
      }),
    ),
    user: nullable(Type.String()),
    metadata: nullable(textMembers()),
    ...ROUTING_FIELDS,
  },
  { additionalProperties: true, $id: 'EmbeddingsRequest' },
);
type EmbeddingsRequest = Static<typeof EmbeddingsRequest>;

/** The fields that the gateway itself reads. All other fields of an embeddings request are extras. */
const KNOWN_FIELDS: readonly string[] = Object.keys(EmbeddingsRequest.properties);

const docs: AnswerDocs = {
  summary: 'Create embeddings',
  description: `OpenAI’s embeddings. \`model\` is the ID of an embedding model, or a selector that names a \`vector_space\`. Only models
of that vector space answer, so their vectors can be compared. A request may contain more texts than the provider accepts at
once; Signalbox splits the request and combines the answers. \`budget_limit\` is a hard limit. Repeats with an \`Idempotency-Key\` work as in chat completions.`,
  request: EmbeddingsRequest,
  requests: EMBEDDINGS_REQUESTS,
  answer: {
    schema: EmbeddingList,
    description: 'The vectors, in the order of the inputs.',
    example: EMBEDDINGS_ANSWER,
  },
  errorField: 'input[0]',
};

/** The name of OpenAI's embeddings dialect in `original.dialect`. */
const OPENAI_EMBEDDINGS = 'openai-embeddings';

/** `POST /v1/embeddings`. */
const createEmbeddings: AnswerRoute = {
  kind: 'answer',
  operation: 'embed',
  method: 'POST',
  path: '/v1/embeddings',
  pays: true,
  docs,
  read({ body }) {
    const embeddings = readEmbeddings(body);
    const format = embeddings.encoding_format ?? 'float';
    return { request: readEmbeddingsRequest(embeddings), events: null, json: writerIn(format) };
  },
  json: writerIn('float'),
};

/** The surface for OpenAI's embeddings. */
export const openaiEmbeddings: Surface = {
  name: OPENAI_EMBEDDINGS,
  dialect: 'OpenAI Embeddings',
  maker: 'OpenAI',
  routes: [createEmbeddings],
  error: ErrorBody,
  errorBody,
  playground: {
    word: 'embeddings',
    label: 'Embeddings',
    ...OPENAI_CLIENT,
    call: 'embeddings.create',
    prompt: { input: 'PROMPT' },
    text: 'answer.data[0].embedding',
    delta: null,
  },
};

function writerIn(format: EncodingFormat): AnswerRoute['json'] {
  return (identity) => new EmbeddingsWriter(identity, format);
}

const checked = compileRead(EmbeddingsRequest);

/**
 * Reads the body of a request for embeddings.
 * @throws SignalboxError for the field at fault.
 */
export function readEmbeddings(body: unknown): EmbeddingsRequest {
  checkSpelling(body, KNOWN_FIELDS);
  const request = checked(body);
  if (request.constraints?.required_languages !== undefined) {
    const param = 'constraints.required_languages';
    throw new SignalboxError('unsupported_parameter', `\`${param}\` does not apply to embeddings. Leave it out.`, {
      param,
    });
  }
  return request;
}

/** Converts a request for embeddings to the neutral form. @param body checked, without nulls */
export const readEmbeddingsRequest = (body: EmbeddingsRequest): ModelRequest => modelRequest(body, EMBEDDINGS);

const NO_CONVERSATION: Conversation = { turns: [], tools: [], toolChoice: undefined };

const EMBEDDINGS: RequestReader<EmbeddingsRequest> = {
  dialect: OPENAI_EMBEDDINGS,
  operation: 'embed',
  names: () => EMBEDDING_NAMES,
  model: ({ model }) => model,
  isStream: () => false,
  conversation: () => NO_CONVERSATION,
  settings: ({ user }) => ({ user }),
  routing: (body) => routingOf(body, body.metadata),
  extras: (body) => extrasOf(body, KNOWN_FIELDS),
  inputs: ({ input }) => inputsOf(input),
  dimensions: ({ dimensions }) => dimensions,
};
