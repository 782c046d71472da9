import { Elysia } from 'elysia';
import type { Caller } from '../core/caller.ts';
import { SignalboxError } from '../core/errors.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { RouteContext } from './app.ts';

interface ModelBody {
  readonly id: string;
  readonly object: 'model';
  /** Unix time, seconds. */
  readonly created: number;
  readonly owned_by: string;
}

/** Selectors first, then the models that the key may pin. */
function listModels(snapshot: PolicySnapshot, caller: Caller): ModelBody[] {
  const selectors = [...snapshot.selectors.keys()].map((id) => body(id, 0, 'signalbox'));
  const models = snapshot.models
    .filter(({ id }) => caller.models?.has(id) ?? true)
    .map(({ id, created, endpoints }) => body(id, created, endpoints[0].provider));
  return [...selectors, ...models];
}

const body = (id: string, created: number, owner: string): ModelBody => ({
  id,
  object: 'model',
  created,
  owned_by: owner,
});

/** Clients write a slash within an ID as `%2F`. What cannot be decoded is no model's ID. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const detail = { tags: ['models'], security: [{ apiKey: [] }] };

/** `/v1/models` in OpenAI's shape. IDs may contain slashes. */
export const modelRoutes = ({ gateway, callerOf }: RouteContext) =>
  new Elysia({ name: 'models' })
    .get(
      '/v1/models',
      ({ request }) => ({ object: 'list', data: listModels(gateway.lease().snapshot, callerOf(request)) }),
      {
        detail: { ...detail, summary: 'List models', description: 'Selectors and the models that the key may use.' },
      },
    )
    .get(
      '/v1/models/*',
      ({ request, params }) => {
        const id = decoded(params['*']);
        const found = listModels(gateway.lease().snapshot, callerOf(request)).find((model) => model.id === id);
        if (!found)
          throw new SignalboxError('model_not_found', `There is no model \`${id.slice(0, 100)}\`.`, { param: 'model' });
        return found;
      },
      { detail: { ...detail, summary: 'Get a model' } },
    );
