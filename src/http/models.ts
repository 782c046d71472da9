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

/** The ID of a model in a query. The document states its form; the handler refuses an empty text, with the right form. */
const queryId = (description: string) => t.Optional(t.String({ description, allOf: [{ minLength: 1 }] }));

/** Clients write a slash within an ID as `%2F`. A text that cannot be decoded is not an ID. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The most models of a page. */
const LIMIT_MAX = 1000;

/** Reads the page that a query asks for; null for the whole list. Other parameters are no concern of the list. */
function pageIn(url: string): PageQuery | null {
  const query = new URL(url).searchParams;
  const [limit, after, before] = ['limit', 'after_id', 'before_id'].map((name) => query.get(name));
  if (limit == null && after == null && before == null) return null;
  const most = limit == null ? LIMIT_MAX : limitOf(limit, LIMIT_MAX);
  return { limit: most, after: after ?? null, before: before ?? null };
}

/** `/v1/models`: one body for the clients of OpenAI, Anthropic and Codex. A login counts under `/admin` alone. */
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
    // The shortest first: of the services that have a model, its maker rather than a reseller.
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
      // For IDs whose slashes were not encoded.
      .get('/v1/models/*', ({ request, params }) => find(request, params['*']), unlisted(ANY_DIALECT))
  );
}

const ANY_DIALECT = { access: 'models.read', anyDialect: true } as const;

/** The documentation of what clients of several dialects use. */
const SHARED = {
  ...ANY_DIALECT,
  headers: { 'request-id': 'The same as `x-request-id`, for a request with the header `anthropic-version`.' },
  errorForm: {
    ...API_ERRORS,
    schema: t.Union([ErrorBody, MessagesError], {
      description: 'Anthropic’s for a request with the header `anthropic-version`, otherwise OpenAI’s.',
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
          description: 'Models of a page. Default: all. A page also ends at 1 MiB.',
        }),
      ),
      after_id: queryId('Only models after this one.'),
      before_id: queryId('Only models before this one.'),
    },
    // Codex adds its version.
    { additionalProperties: true },
  ),
  ...routeDocs({
    ...shared,
    summary,
    description,
    tag: 'Models',
    answer: { schema, description: 'The models; all of them unless `limit` is stated.' },
    errorField: 'limit',
    errors: ['invalid_value', 'out_of_range'],
  }),
});

const LIST = listDocs(
  SHARED,
  ModelList,
  'List models',
  'Selectors first, then the models that the key may use, and behind each its aliases. One body serves the clients of OpenAI, Anthropic and Codex.',
);

const ADMIN_LIST = listDocs(
  { access: 'models.list' },
  DetailedModelList,
  'List models to people',
  'The same list as `GET /v1/models` and the wildcards of the policy, for people who have signed in, with the price, the quality and the selectors of each model that the caller may use.',
);

const GET = routeDocs({
  ...SHARED,
  summary: 'Get a model',
  description: 'Returns one model, selector or alias by its ID, which can contain slashes.',
  tag: 'Models',
  answer: { schema: Model, description: 'The model.' },
  errors: ['model_not_found'],
});
