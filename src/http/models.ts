import type { Static } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Caller } from '../core/caller.ts';
import { SignalboxError } from '../core/errors.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { similarName } from '../routing/model-name.ts';
import { always, listOf, modelId, named, text, unixTime } from '../surface/schemas/parts.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';
import { unlisted } from './routes.ts';

export const Model = named('Model', 'A model or a selector, in OpenAI’s shape.', {
  id: modelId('The value to send as `model`.'),
  object: always('model'),
  created: unixTime('When the model came out; 0 for a selector.'),
  owned_by: text('The provider asked first; `signalbox` for a selector.', 'openai'),
});

export const ModelList = named(
  'ModelList',
  'Selectors first, then the models that the key may pin.',
  listOf(Model, 'All models and selectors; the list has no pages.'),
);

/** Selectors first, then the models that the key may pin. */
function listModels(snapshot: PolicySnapshot, caller: Caller): Static<typeof Model>[] {
  const selectors = [...snapshot.selectors.keys()].map((id) => body(id, 0, 'signalbox'));
  const models = snapshot.models
    .filter(({ id }) => caller.models?.has(id) ?? true)
    .map(({ id, created, endpoints }) => body(id, created, endpoints[0].provider));
  return [...selectors, ...models];
}

const body = (id: string, created: number, owner: string): Static<typeof Model> => ({
  id,
  object: 'model',
  created,
  owned_by: owner,
});

/** Clients write a slash within an ID as `%2F`. A text that cannot be decoded is not an ID. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** `/v1/models` in OpenAI's shape. */
export function modelRoutes({ gateway, callerOf }: RouteServices) {
  const list = (request: Request) => listModels(gateway.lease().snapshot, callerOf(request));
  const find = (request: Request, path: string) => {
    const id = decoded(path);
    const models = list(request);
    const found = models.find((model) => model.id === id);
    if (found) return found;
    const name = id.slice(0, 100);
    const meant = similarName(
      name,
      models.map((model) => model.id),
    );
    const hint = meant === null ? '' : ` Did you mean \`${meant}\`?`;
    throw new SignalboxError(
      'model_not_found',
      `The model \`${name}\` does not exist, or this key may not use it.${hint}`,
      { param: 'model' },
    );
  };
  return (
    new Elysia({ name: 'models' })
      .get('/v1/models', ({ request }) => ({ object: 'list', data: list(request) }), LIST)
      .get('/v1/models/:id', ({ request, params }) => find(request, params.id), GET)
      // For IDs whose slashes were not encoded.
      .get('/v1/models/*', ({ request, params }) => find(request, params['*']), unlisted({ access: 'key' }))
  );
}

const LIST = routeDocs({
  access: 'key',
  summary: 'List models',
  description: 'Selectors first, then the models that the key may pin, in OpenAI’s shape.',
  tag: 'models',
  answer: { schema: ModelList, description: 'All models and selectors; there are no pages.' },
});

const GET = routeDocs({
  access: 'key',
  summary: 'Get a model',
  description: 'Returns one model or selector by its ID, which can contain slashes.',
  tag: 'models',
  answer: { schema: Model, description: 'The model.' },
  errors: ['model_not_found'],
});
