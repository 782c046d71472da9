import {
  type EmbeddingAdapter,
  type EmbeddingCall,
  type HttpCall,
  plainUsage,
  type StreamPart,
} from 'signalbox/plugin';
import { indexOf, isObject, listOf, numberOf, objectOf, parseJson } from '../json.ts';
import { bytesOf } from '../media.ts';
import { malformed } from '../parts.ts';
import { statedCost } from '../stated-cost.ts';
import { errorIn, failureOfError } from './failure.ts';
import type { DialectSettings } from './settings.ts';

/** The adapter for OpenAI's embeddings, which most servers of the dialect support. */
export const embeddingsOf = (settings: DialectSettings): EmbeddingAdapter => ({
  request: (call) => buildRequest(call, settings),
  reply: readReply,
});

function buildRequest(call: EmbeddingCall, { leave_out: left, embeddings_as: format }: DialectSettings): HttpCall {
  const { upstream, inputs, dimensions, isShortened, extras, request } = call;
  const { user } = request.settings;
  const takesUser = !left.includes('user');
  const body = {
    ...extras,
    model: upstream,
    input: inputs.map((input) => (input.type === 'text' ? input.text : input.tokens)),
    ...(isShortened && { dimensions }),
    ...(format === 'base64' && { encoding_format: format }),
    ...(takesUser && user !== undefined && { user }),
  };
  const dropped = takesUser || user === undefined ? [] : [request.names.user];
  return { path: '/embeddings', headers: {}, body: JSON.stringify(body), dropped };
}

function readReply(body: string): readonly StreamPart[] {
  const reply = parseJson(body);
  if (!isObject(reply)) return [malformed('the answer is not a JSON object')];
  const error = errorIn(reply);
  if (error) return [{ type: 'failure', failure: failureOfError(error) }];
  const parts: StreamPart[] = [];
  for (const item of listOf(reply.data)) {
    const { index, embedding } = objectOf(item);
    const vector = vectorOf(embedding);
    if (vector === null) return [malformed('the answer has a vector that cannot be read')];
    parts.push({ type: 'embedding', choice: 0, index: indexOf(index), vector });
  }
  parts.push({ type: 'finish', choice: 0, reason: 'stop', raw: '' });
  const usage = objectOf(reply.usage);
  const input = numberOf(usage.prompt_tokens);
  if (input !== undefined) parts.push({ type: 'usage', usage: plainUsage(input, 0), cost: statedCost(usage) });
  return parts;
}

const FLOAT_BYTES = 4;

/** Reads a list of numbers, or their bytes as 32-bit floats in base64; returns null for anything else. */
function vectorOf(embedding: unknown): readonly number[] | null {
  if (Array.isArray(embedding)) return embedding;
  if (typeof embedding !== 'string') return null;
  const bytes = bytesOf(embedding);
  if (bytes === null || bytes.length % FLOAT_BYTES !== 0) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / FLOAT_BYTES }, (_, at) => view.getFloat32(at * FLOAT_BYTES, true));
}
