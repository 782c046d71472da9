import { Elysia, t } from 'elysia';
import { ErrorBody } from '../core/api/error-schema.ts';
import { refuse } from '../core/errors.ts';
import { capital } from '../core/text/text.ts';
import { type ListPage, type ListRoute, type Surface, spokenIn } from '../dialects/surface.ts';
import { excluderName, mayUse, meaningOf, nameHint } from '../routing/model-name.ts';
import { API_ERRORS, type RouteDocs, routeDocs } from './kit/route-docs.ts';
import type { RouteServices } from './kit/route-services.ts';
import { queryOf, unlisted } from './kit/route-table.ts';
import { detailedDirectoryOf, directoryOf } from './model-list.ts';
import { DetailedModelList } from './schemas/models.ts';
import { keyParameterOf } from './surface-handler.ts';
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
function pageIn(query: URLSearchParams): ListPage | null {
  const [limit, after, before] = ['limit', 'after_id', 'before_id'].map((name) => query.get(name));
  if (limit == null && after == null && before == null) return null;
  const most = limit == null ? LIMIT_MAX : limitOf(limit, LIMIT_MAX);
  return { limit: most, after: after ?? null, before: before ?? null };
}

/** The routes that list models in the forms of the dialects. */
export const modelRoutes = (services: RouteServices, surfaces: readonly Surface[]) =>
  new Elysia({ name: 'models' }).use(
    surfaces.flatMap((surface) =>
      surface.routes.flatMap((route) =>
        route.kind === 'list' ? [listRoutes(services, surface, route, surfaces)] : [],
      ),
    ),
  );

/** `/admin/models`, for people who have signed in. A login works only below `/admin`. */
export const adminModelRoutes = ({ gateway, callerOf }: RouteServices) =>
  new Elysia({ name: 'models with details' }).get(
    '/admin/models',
    ({ request, set }) => {
      set.headers['content-type'] = 'application/json';
      return listIn(detailedDirectoryOf(gateway.lease().snapshot, callerOf(request)), request);
    },
    ADMIN_LIST,
  );

/** The list as a client requests it: complete, or a page. */
function listIn(all: ReturnType<typeof directoryOf>, { url }: Request, form?: ListRoute): string {
  if (queryOf(url) === '' && !form?.page) return all.whole;
  const query = new URL(url).searchParams;
  const page = form?.page ? form.page(query) : pageIn(query);
  return page === null ? all.whole : all.page(page);
}

function listRoutes(
  { gateway, callerOf }: RouteServices,
  surface: Surface,
  route: ListRoute,
  surfaces: readonly Surface[],
) {
  const { path, isShared, docs } = route;
  const formFor = (request: Request) => (isShared ? ownList(request.headers, surfaces) : null) ?? route;
  const directory = (request: Request, form: ListRoute) =>
    directoryOf(gateway.lease().snapshot, callerOf(request), form);
  const find = (request: Request, encoded: string) => {
    const id = decoded(encoded);
    const form = formFor(request);
    const { byId } = directory(request, form);
    const found = byId.get(id);
    if (found) return form.model(found);
    const { snapshot } = gateway.lease();
    const { model: meaning } = meaningOf(id, snapshot);
    const meant = byId.get(meaning);
    if (meant) return form.model({ ...meant, id, shownAs: meant.id });
    const model = snapshot.models.find((one) => one.id === meaning);
    const caller = callerOf(request);
    if (model && !mayUse(caller, model)) {
      const who = capital(excluderName(caller, model));
      refuse('model', `${who} may not use the model \`${model.id}\`.`, 'model_not_found');
    }
    const name = id.slice(0, 100);
    // The shortest ID comes first: if several services have a model, that is usually its maker and not a reseller.
    const names = [...byId.keys()].sort((a, b) => a.length - b.length);
    refuse(
      'model',
      `The model \`${name}\` does not exist, or this key may not use it.${nameHint(name, names)}`,
      'model_not_found',
    );
  };
  const access = { access: 'models.read', anyDialect: isShared, ...keyParameterOf(surface) } as const;
  const form = { ...access, ...(isShared ? sharedForm(surfaces) : ownForm(surface)) };
  return (
    new Elysia({ name: `models at ${path}` })
      .get(
        path,
        ({ request, set }) => {
          set.headers['content-type'] = 'application/json';
          const own = formFor(request);
          return listIn(directory(request, own), request, own);
        },
        listDocs(form, docs.list),
      )
      .get(
        `${path}/:id`,
        ({ request, params }) => find(request, params.id),
        routeDocs({
          ...form,
          summary: docs.model.summary,
          description: docs.model.description,
          tag: 'Models',
          answer: { schema: docs.model.schema, description: 'The model.' },
          errors: ['model_not_found'],
        }),
      )
      // Finds IDs whose slashes the client did not encode.
      .get(`${path}/*`, ({ request, params }) => find(request, params['*']), unlisted(access))
  );
}

/** The list in the form of the dialect that the headers indicate; null if that dialect has no form of its own. */
const ownList = (headers: Headers, surfaces: readonly Surface[]): ListRoute | null =>
  spokenIn(surfaces, headers)?.routes.find((route) => route.kind === 'list') ?? null;

/** The errors of a list in the form of its own dialect. Web pages may read it like `/v1/models`. */
const ownForm = ({ error, errorBody }: Surface): Pick<RouteDocs, 'errorForm' | 'isForPages'> => ({
  errorForm: { schema: error, body: errorBody },
  isForPages: true,
});

/** The headers and errors of a route whose errors follow the dialect that the request's headers indicate. */
function sharedForm(surfaces: readonly Surface[]): Pick<RouteDocs, 'headers' | 'errorForm'> {
  const versioned = surfaces.filter(({ versionHeader }) => versionHeader !== undefined);
  const headers = versioned.flatMap(({ requestIdHeader, versionHeader }) =>
    requestIdHeader === undefined
      ? []
      : [
          [
            requestIdHeader,
            `The same value as \`x-request-id\`. Only requests with the header \`${versionHeader}\` get it.`,
          ],
        ],
  );
  const forms = versioned.map(
    ({ maker, versionHeader }) => `In ${maker}’s form for a request with the header \`${versionHeader}\``,
  );
  return {
    headers: Object.fromEntries(headers),
    errorForm: {
      ...API_ERRORS,
      schema: t.Union([ErrorBody, ...versioned.map(({ error }) => error)], {
        description: `${[...forms, 'otherwise in OpenAI’s form'].join(', ')}.`,
      }),
    },
  };
}

const PAGE_QUERY = t.Object(
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
);

const listDocs = (
  shared: Pick<RouteDocs, 'access' | 'anyDialect' | 'errorForm' | 'headers'>,
  { schema, summary, description, query = PAGE_QUERY }: ListRoute['docs']['list'],
) => ({
  query,
  ...routeDocs({
    ...shared,
    summary,
    description,
    tag: 'Models',
    answer: { schema, description: 'The models. Without `limit`, the list contains all models.' },
    errorField: Object.keys(query.properties)[0] ?? '',
    errors: ['invalid_value', 'out_of_range'],
  }),
});

const ADMIN_LIST = listDocs(
  { access: 'models.list' },
  {
    schema: DetailedModelList,
    summary: 'List models with details',
    description:
      'The list of `GET /v1/models` and the wildcards of the policy, with the price, the quality and the selectors of each model that the caller may use. It is for people who have signed in.',
  },
);
