import { embeddingQuery } from '../../api/embedding-query.ts';
import { extrasOf } from '../../api/extras.ts';
import { routingOf } from '../../api/routing-fields.ts';
import { checkSpelling } from '../../api/spelling.ts';
import { EMBEDDING_NAMES } from '../../contract/field-names.ts';
import type { Conversation } from '../../core/conversation.ts';
import { SignalboxError } from '../../core/errors.ts';
import { type ModelRequest, modelRequest, type RequestReader } from '../../core/model-request.ts';
import { compileRead } from '../../core/validation.ts';
import { EmbeddingsRequest, KNOWN_FIELDS } from './request.ts';

/** The dialect of OpenAI's embeddings, in `original.dialect`. */
const OPENAI_EMBEDDINGS = 'openai-embeddings';

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
    throw new SignalboxError('unsupported_parameter', `\`${param}\` has no meaning for embeddings.`, { param });
  }
  return request;
}

/** Makes its neutral form. @param body checked, without nulls */
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
  embedding: ({ input, dimensions }) => embeddingQuery(input, dimensions),
};
