import type { Capability, ListedModel, ModelListAdapter } from 'signalbox/plugin';
import { type Json, objectOf, objectsIn, parseJson, textOf, tokensOf } from '../json.ts';
import { HEADERS } from './request.ts';

/** `GET /models`: types of @anthropic-ai/sdk 1.12.0. The limits and abilities are null on servers that do not state them. */
export const modelList: ModelListAdapter = {
  headers: HEADERS,
  path: (after) => `/models?limit=1000${after === null ? '' : `&after_id=${encodeURIComponent(after)}`}`,
  read(body) {
    const { data, has_more, last_id } = objectOf(parseJson(body));
    if (!Array.isArray(data)) return null;
    const models = objectsIn(data).flatMap((one) => (textOf(one.id) === '' ? [] : [readModel(one)]));
    return { models, next: has_more === true ? textOf(last_id) || null : null };
  },
};

function readModel({ id, created_at, max_input_tokens, max_tokens, capabilities, lifecycle }: Json): ListedModel {
  const [released = ''] = textOf(created_at).split('T');
  return {
    id: textOf(id),
    contextWindow: tokensOf(max_input_tokens),
    maxOutput: tokensOf(max_tokens),
    capabilities: capabilities ? capabilitiesOf(objectOf(capabilities)) : undefined,
    // An epoch where the day is unknown.
    released: released > '2000' ? released : undefined,
    unfit: lifecycle === 'retired' ? 'retired' : undefined,
  };
}

function capabilitiesOf(stated: Json): Capability[] {
  const has = (name: string) => objectOf(stated[name]).supported === true;
  // Every Claude calls tools, which the list does not say.
  const named = ABILITIES.flatMap(([name, capability]) => (has(name) ? [capability] : []));
  return ['tools', ...named];
}

const ABILITIES: readonly (readonly [string, Capability])[] = [
  ['image_input', 'vision'],
  ['structured_outputs', 'json_schema'],
  ['thinking', 'reasoning'],
  ['pdf_input', 'file_input'],
];
