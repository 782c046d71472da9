import type { BuiltRequest, CountMargin } from 'signalbox/plugin';
import { numberOf, objectOf, parseJson } from '../json.ts';

/** The fields of a message that are about its answer: counting takes none of them. */
const OF_ANSWERS = ['max_tokens', 'stream', 'metadata', 'stop_sequences', 'temperature', 'top_p', 'top_k'] as const;

/** Anthropic calls its counts estimates that may differ from the bill by a small amount, and does not say by how much. */
export const MARGIN: CountMargin = { tokens: 256, share: 0.05 };

/** Makes `POST /messages/count_tokens` of the request for an answer. */
export function countRequest(made: BuiltRequest): BuiltRequest {
  if ('kind' in made) return made;
  const body: Record<string, unknown> = { ...objectOf(parseJson(made.body)) };
  for (const field of OF_ANSWERS) delete body[field];
  return { ...made, path: '/messages/count_tokens', body: JSON.stringify(body) };
}

export const readCount = (body: string): number | null => numberOf(objectOf(parseJson(body)).input_tokens) ?? null;
