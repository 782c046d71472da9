import type { Static } from '@sinclair/typebox';
import type { ListedModel, ListRoute } from '../surface.ts';
import { Model, ModelList } from './model-schema.ts';

type ModelBody = Static<typeof Model>;

/** `GET /v1/models`: one response for the clients of OpenAI, Anthropic and Codex. */
export const listModels: ListRoute = {
  kind: 'list',
  method: 'GET',
  path: '/v1/models',
  isShared: true,
  docs: {
    list: {
      summary: 'List models',
      description:
        'Selectors come first, then the models that the key may use. The aliases of each follow it. One response serves the clients of OpenAI, Anthropic and Codex.',
      schema: ModelList,
    },
    model: {
      summary: 'Get a model',
      description: 'Returns one model, selector or alias by its ID, which can contain slashes.',
      schema: Model,
    },
  },
  list: (models, hasMore) => listBody(models.map(modelBody), hasMore),
  model: modelBody,
};

/** The body of a list, for this route and for lists whose models have more members. */
export const listBody = <Body extends ModelBody>(data: readonly Body[], hasMore: boolean) => ({
  object: 'list' as const,
  data: [...data],
  has_more: hasMore,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
  models: [],
});

export function modelBody(model: ListedModel): ModelBody {
  const { id, shownAs, created, owner, deprecated, inputTokensMax, outputTokensMax, operations, abilities } = model;
  return {
    id,
    object: 'model',
    created,
    owned_by: owner,
    type: 'model',
    display_name: shownAs,
    created_at: momentOf(created),
    lifecycle: deprecated === null ? 'active' : 'deprecated',
    deprecated_at: deprecated === null ? null : momentOf(deprecated),
    // Strict readers of Anthropic’s list require these members.
    retires_at: null,
    line: null,
    capabilities: null,
    max_input_tokens: inputTokensMax,
    max_tokens: outputTokensMax,
    operations: [...operations],
    abilities: [...abilities],
  };
}

const momentOf = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
