import type { ListedModel, ModelListAdapter } from 'signalbox/plugin';
import { type Json, listOf, objectOf, objectsIn, parseJson, textOf, tokensOf } from '../json.ts';

/** `GET /models` (ai.google.dev/api/models). It states limits, and of abilities only whether a model thinks. */
export const modelList: ModelListAdapter = {
  headers: {},
  path: (after) => `/models?pageSize=1000${after === null ? '' : `&pageToken=${encodeURIComponent(after)}`}`,
  read(body) {
    const { models, nextPageToken } = objectOf(parseJson(body));
    if (!Array.isArray(models)) return null;
    const named = objectsIn(models).filter(({ name }) => textOf(name).startsWith('models/'));
    return { models: named.map(readModel), next: textOf(nextPageToken) || null };
  },
};

function readModel({ name, inputTokenLimit, outputTokenLimit, supportedGenerationMethods }: Json): ListedModel {
  const methods = listOf(supportedGenerationMethods);
  return {
    id: textOf(name).slice('models/'.length),
    contextWindow: tokensOf(inputTokenLimit),
    maxOutput: tokensOf(outputTokenLimit),
    unfit: methods.includes('generateContent') ? undefined : methods.join(' and ') || 'no conversations',
  };
}
