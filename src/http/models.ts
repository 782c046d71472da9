import type { TSchema } from '@sinclair/typebox';
import { Elysia, type HTTPHeaders, t } from 'elysia';
import { ErrorBody } from '../core/api/error-schema.ts';
import { refuse } from '../core/errors.ts';
import { MessagesError } from '../dialects/anthropic-messages/error-schema.ts';
import { meaningOf, nameHint } from '../routing/model-name.ts';
import { API_ERRORS, type RouteDocs, routeDocs } from './docs/route-docs.ts';
import { detailedDirectoryOf, directoryOf, type PageQuery } from './model-list.ts';
import type { RouteServices } from './route-services.ts';
import { unlisted } from './route-table.ts';
import { DetailedModelList, Model, ModelList } from './schemas/models.ts';
import { limitOf } from './terms.ts';

/** The ID of a model in a query. The document contains its form; the handler refuses an empty text with a better message. */
const queryId = (description: string) => t.Optional(t.String({ description, allOf: [{ minLength: 1 }] }));

/** Decodes an ID, in which clients write a slash as `%2F`. A text that cannot be decoded is not an ID. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The maximum number of models in a page. */
const LIMIT_MAX = 1000;

/** Reads the requested page; null for the complete list. Other parameters are ignored. */
function pageIn(url: string): PageQuery | null {
  const query = new URL(url).searchParams;
  const [limit, after, before] = ['limit', 'after_id', 'before_id'].map((name) => query.get(name));
  if (limit == null && after == null && before == null) return null;
  const most = limit == null ? LIMIT_MAX : limitOf(limit, LIMIT_MAX);
  return { limit: most, after: after ?? null, before: before ?? null };
}

/** `/v1/models` gives the same response to the clients of OpenAI, Anthropic and Codex. A login works only below `/admin`. */
export function modelRoutes({ gateway, callerOf }: RouteServices) {
  const directory = (request: Request) => directoryOf(gateway.lease().snapshot, callerOf(request));
  const list = (request: Request, headers: HTTPHeaders, of: typeof directoryOf | typeof detailedDirectoryOf) => {
    headers['content-type'] = 'application/json';
    const page = pageIn(request.url);
    const all = of(gateway.lease().snapshot, callerOf(request));
    return page === null ? all.whole : all.page(page);
  };
  const find = (request: Request, path: string) => {
    const id = decoded(path);
    const { byId } = directory(request);
    const found = byId.get(id);
    if (found) return found;
    const meant = byId.get(meaningOf(id, gateway.lease().snapshot).model);
    if (meant) return { ...meant, id, display_name: meant.id };
    const name = id.slice(0, 100);
    // The shortest ID comes first: if several services have a model, that is usually its maker and not a reseller.
    const names = [...byId.keys()].sort((a, b) => a.length - b.length);
    refuse(
      'model',
      `The model \`${name}\` does not exist, or this key may not use it.${nameHint(name, names)}`,
      'model_not_found',
    );
  };
  return (
    new Elysia({ name: 'models' })
      .get('/v1/models', ({ request, set }) => list(request, set.headers, directoryOf), LIST)
      .get('/admin/models', ({ request, set }) => list(request, set.headers, detailedDirectoryOf), ADMIN_LIST)
      .get('/v1/models/:id', ({ request, params }) => find(request, params.id), GET)
      // Finds IDs whose slashes the client did not encode.
      .get('/v1/models/*', ({ request, params }) => find(request, params['*']), unlisted(ANY_DIALECT))
  );
}

const ANY_DIALECT = { access: 'models.read', anyDialect: true } as const;

/** The documentation of routes that clients of several dialects use. */
const SHARED = {
  ...ANY_DIALECT,
  headers: {
    'request-id': 'The same value as `x-request-id`. Only requests with the header `anthropic-version` get it.',
  },
  errorForm: {
    ...API_ERRORS,
    schema: t.Union([ErrorBody, MessagesError], {
      description: 'In Anthropic’s form for a request with the header `anthropic-version`, otherwise in OpenAI’s form.',
    }),
  },
} as const;

const listDocs = (
  shared: Pick<RouteDocs, 'access' | 'anyDialect' | 'errorForm' | 'headers'>,
  schema: TSchema,
  summary: string,
  description: string,
) => ({
  query: t.Object(
    {
      limit: t.Optional(
        t.Any({
          type: 'integer',
          minimum: 1,
          maximum: LIMIT_MAX,
          description: 'How many models a page contains. Default: all. A page also ends at 1 MiB.',
        }),
      ),
      after_id: queryId('Only models after this one.'),
      before_id: queryId('Only models before this one.'),
    },
    // Codex adds its own version as a query parameter.
    { additionalProperties: true },
  ),
  ...routeDocs({
    ...shared,
    summary,
    description,
    tag: 'Models',
    answer: { schema, description: 'The models. Without `limit`, the list contains all models.' },
    errorField: 'limit',
    errors: ['invalid_value', 'out_of_range'],
  }),
});

const LIST = listDocs(
  SHARED,
  ModelList,
  'List models',
  'Selectors come first, then the models that the key may use. The aliases of each follow it. One response serves the clients of OpenAI, Anthropic and Codex.',
);

const ADMIN_LIST = listDocs(
  { access: 'models.list' },
  DetailedModelList,
  'List models with details',
  'The list of `GET /v1/models` and the wildcards of the policy, with the price, the quality and the selectors of each model that the caller may use. It is for people who have signed in.',
);

const GET = routeDocs({
  ...SHARED,
  summary: 'Get a model',
  description: 'Returns one model, selector or alias by its ID, which can contain slashes.',
  tag: 'Models',
  answer: { schema: Model, description: 'The model.' },
  errors: ['model_not_found'],
});
