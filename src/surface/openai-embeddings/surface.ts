import { errorBody } from '../../api/error.ts';
import { ErrorBody } from '../../api/error-schema.ts';
import type { Surface, SurfaceDocs } from '../surface.ts';
import { EmbeddingList, EmbeddingsWriter, type EncodingFormat } from './answer.ts';
import { EMBEDDINGS_ANSWER, EMBEDDINGS_REQUESTS } from './examples.ts';
import { readEmbeddings, readEmbeddingsRequest } from './reader.ts';
import { EmbeddingsRequest } from './request.ts';

const docs: SurfaceDocs = {
  dialect: 'OpenAI Embeddings',
  summary: 'Create embeddings',
  description: `OpenAI’s embeddings. \`model\` is the ID of an embedding model, or a selector that names a \`vector_space\`: all
its models give vectors that can be compared, and only they answer. A request may have more texts than the provider takes at
once; it is split and joined. \`budget_limit\` is hard. Repeats with an \`Idempotency-Key\` work as for chat completions.`,
  request: EmbeddingsRequest,
  requests: EMBEDDINGS_REQUESTS,
  answer: {
    schema: EmbeddingList,
    description: 'The vectors, in the order of the inputs.',
    example: EMBEDDINGS_ANSWER,
  },
  error: ErrorBody,
  errorField: 'input[0]',
};

/** OpenAI's embeddings. */
export const openaiEmbeddings: Surface = {
  name: 'openai-embeddings',
  operation: 'embed',
  path: '/v1/embeddings',
  pays: true,
  docs,
  read(body) {
    const embeddings = readEmbeddings(body);
    const format = embeddings.encoding_format ?? 'float';
    return { request: readEmbeddingsRequest(embeddings), events: null, json: writerIn(format) };
  },
  json: writerIn('float'),
  errorBody,
};

function writerIn(format: EncodingFormat): Surface['json'] {
  return (identity) => new EmbeddingsWriter(identity, format);
}
