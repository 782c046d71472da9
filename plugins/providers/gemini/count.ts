import type { BuiltRequest, CountMargin, ProviderCall } from 'signalbox/plugin';
import { numberOf, objectOf, parseJson } from '../json.ts';
import { buildRequest, modelPath, resourceName } from './request.ts';

/** Google does not say how near its counts are to the bill. */
export const MARGIN: CountMargin = { tokens: 256, share: 0.05 };

/** Builds `POST /models/…:countTokens` (ai.google.dev/api/tokens): tools and the system instruction count only within a whole request. */
export function countRequest(call: ProviderCall): BuiltRequest {
  const made = buildRequest(call);
  if ('kind' in made) return made;
  const model = resourceName(call.upstream);
  const body = { generateContentRequest: { model, ...objectOf(parseJson(made.body)) } };
  return { ...made, path: `/${modelPath(call.upstream)}:countTokens`, body: JSON.stringify(body) };
}

export const readCount = (body: string): number | null => numberOf(objectOf(parseJson(body)).totalTokens) ?? null;
