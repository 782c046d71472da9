import type { Conversation } from '../../core/conversation.ts';
import type { EmbeddingInput, EmbeddingQuery } from '../../core/embedding.ts';
import { SignalboxError } from '../../core/errors.ts';
import { type ModelRequest, modelRequest, type RequestReader } from '../../core/model-request.ts';
import { compileRead } from '../../core/validation.ts';
import { checkSpelling } from '../openai-chat/check.ts';
import { extrasOf } from '../openai-chat/extras.ts';
import { OPENAI_NAMES, routingOf } from '../openai-chat/reader.ts';
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
const NAMES = { ...OPENAI_NAMES, turns: 'input' };

const EMBEDDINGS: RequestReader<EmbeddingsRequest> = {
  dialect: OPENAI_EMBEDDINGS,
  operation: 'embed',
  names: () => NAMES,
  model: ({ model }) => model,
  isStream: () => false,
  conversation: () => NO_CONVERSATION,
  settings: ({ user }) => ({ user }),
  routing: routingOf,
  extras: (body) => extrasOf(body, KNOWN_FIELDS),
  embedding: queryOf,
};

function queryOf({ input, dimensions }: EmbeddingsRequest): EmbeddingQuery {
  const isOne = typeof input === 'string' || typeof input[0] === 'number';
  const list: readonly unknown[] = isOne ? [input] : input;
  return { inputs: list.map((one, index) => inputOf(one, isOne ? ['input'] : ['input', index])), dimensions };
}

/** The body is checked: what is no text is a list of tokens. */
const inputOf = (value: unknown, at: EmbeddingInput['at']): EmbeddingInput =>
  typeof value === 'string'
    ? { type: 'text', text: value, at }
    : { type: 'tokens', tokens: Array.isArray(value) ? value : [], at };
