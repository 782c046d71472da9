import {
  type BuiltRequest,
  type EmbeddingAdapter,
  type EmbeddingCall,
  plainUsage,
  type StreamPart,
} from 'signalbox/plugin';
import { isObject, listOf, numberOf, objectOf, parseJson } from '../json.ts';
import { malformed } from '../parts.ts';
import { failureOfError } from './failure.ts';
import { modelPath, resourceName } from './request.ts';

/** Gemini's `batchEmbedContents` (ai.google.dev/api/embeddings). */
export const embeddings: EmbeddingAdapter = { request: buildRequest, reply: readReply };

function buildRequest(call: EmbeddingCall): BuiltRequest {
  const { upstream, inputs, dimensions, isShortened, extras, request } = call;
  const model = resourceName(upstream);
  const requests = [];
  for (const input of inputs) {
    if (input.type === 'tokens') return { kind: 'rejected', message: 'input: Gemini embeds texts but not tokens' };
    requests.push({
      ...extras,
      model,
      content: { parts: [{ text: input.text }] },
      ...(isShortened && { outputDimensionality: dimensions }),
    });
  }
  const dropped = request.settings.user === undefined ? [] : [request.names.user];
  const path = `/${modelPath(upstream)}:batchEmbedContents`;
  return { path, headers: {}, body: JSON.stringify({ requests }), dropped };
}

/** Reads the vectors, which are in the order of the requests. Only later embedding models report usage. */
function readReply(body: string): readonly StreamPart[] {
  const reply = parseJson(body);
  if (!isObject(reply)) return [malformed('the answer is not a JSON object')];
  if (reply.error) return [{ type: 'failure', failure: failureOfError(reply.error) }];
  const parts: StreamPart[] = [];
  for (const [index, item] of listOf(reply.embeddings).entries()) {
    const { values } = objectOf(item);
    if (!Array.isArray(values)) return [malformed('the answer has a vector that cannot be read')];
    parts.push({ type: 'embedding', choice: 0, index, vector: values });
  }
  parts.push({ type: 'finish', choice: 0, reason: 'stop', raw: '' });
  const input = numberOf(objectOf(reply.usageMetadata).promptTokenCount);
  if (input !== undefined) parts.push({ type: 'usage', usage: plainUsage(input, 0) });
  return parts;
}
