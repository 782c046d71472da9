import type { TSchema } from '@sinclair/typebox';
import { type AnyElysia, t } from 'elysia';
import { type Action, isAction, mayTake, scopesFor } from '../../admin/use-cases/roles.ts';
import { errorBody } from '../../core/api/error.ts';
import { ErrorBody } from '../../core/api/error-schema.ts';
import { ERRORS, type ErrorCode, SignalboxError } from '../../core/errors.ts';
import type { AnswerDocs } from '../../dialects/surface.ts';
import { exampleOf } from './example.ts';
import { ACCESS_DETAIL, isOnceForName, type RouteAccess } from './route-table.ts';

/** The access of a route and its documentation, except for its path and the schema of its body. */
export interface RouteDocs extends RouteAccess {
  readonly summary: string;
  /** The description in Markdown. */
  readonly description: string;
  /** The group of the route, which `openapi.ts` describes; `Operators` by default. */
  readonly tag?: string;
  /** The successful response, with status 200 by default. */
  readonly answer: {
    readonly status?: 101 | 201;
    readonly schema: TSchema;
    readonly description: string;
    /** The example; by default it is made from the examples in the schema. */
    readonly example?: object | string;
    /** Fields whose values differ from the examples in the schema. */
    readonly differs?: object;
    /** The response with status 503, which has the same schema. */
    readonly unready?: { readonly description: string; readonly differs: object };
    /** The media type; JSON by default. */
    readonly mediaType?: string;
    /** The alternative response as text. */
    readonly text?: { readonly mediaType: string; readonly description: string; readonly example: string };
  };
  /** The response headers with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The schema of a body that the handler checks itself. If the router had the schema, it would check the body a second time. */
  readonly request?: TSchema;
  /** The alternative response as a stream. */
  readonly events?: AnswerDocs['events'];
  /** Example request bodies by name. */
  readonly requests?: Readonly<Record<string, { readonly summary: string; readonly value: object }>>;
  readonly errors?: readonly ErrorCode[];
  /** The form of the errors, if they follow a dialect. */
  readonly errorForm?: ErrorForm;
  /** The field that examples of field errors name; required if the route has field errors. */
  readonly errorField?: string;
}

/** The schema of an error's body, and a function that makes the body of an error. */
interface ErrorForm {
  readonly schema: TSchema;
  body(error: SignalboxError): object;
}
export const API_ERRORS: ErrorForm = { schema: ErrorBody, body: errorBody };

/** The two ways to send a key by their names in the document. Every route accepts both. */
const KEY_SECURITY: Record<string, string[]>[] = [{ apiKey: [] }, { apiKeyHeader: [] }];

/** Errors that every route with a key can return. */
const KEYED: readonly ErrorCode[] = [
  ...(['invalid_api_key', 'wrong_host', 'rate_limit_exceeded', 'headers_too_large', 'internal_error'] as const),
  // Returned while the database is not available.
  'overloaded',
];

/** Makes the `detail` of an Elysia route, from which the route table and the OpenAPI document are made. */
export function routeDocs(spec: RouteDocs) {
  const { summary, description, tag = 'Operators', answer, events, requests, errors = [], errorField } = spec;
  const { access, errorForm = API_ERRORS, pays, request } = spec;
  const isOpen = access === 'open';
  const scopes = isAction(access) ? scopesNeeded(access) : '';
  const isNarrowed = isAction(access) && !mayTake('caller', access);
  const refusals: readonly ErrorCode[] = isNarrowed ? [...KEYED, 'insufficient_permissions'] : KEYED;
  const security = isOpen ? [] : [...KEY_SECURITY, ...(pays ? [{}] : [])];
  const responses = (more: RouteExtras) => ({
    [answer.status ?? 200]: { ...answerResponse(answer, events), ...headersOf(spec, more.headers) },
    ...(answer.unready && { 503: answerResponse({ ...answer, ...answer.unready }, undefined) }),
    ...errorResponses([...(isOpen ? [] : refusals), ...errors, ...more.errors], errorField ?? more.field, errorForm),
  });
  return {
    detail: {
      summary,
      description: `${description}${scopes}`,
      tags: [tag],
      security,
      [RESPONSES_DETAIL]: responses,
      ...(request && { requestBody: { content: { 'application/json': { schema: request } } } }),
      ...(requests && { 'x-requests': requests }),
      [ACCESS_DETAIL]: accessOf(spec),
    },
  };
}

/** The access rules in the documentation of a route. */
export const accessOf = ({
  access,
  body,
  ownPages,
  counts,
  pays,
  isForPages,
  anyDialect,
  keyParameter,
  operation,
}: RouteDocs): RouteAccess => ({
  ...{ access, body, ownPages, counts, pays, isForPages, anyDialect, operation },
  ...(keyParameter !== undefined && { keyParameter }),
});

/** Says which scopes open a route that is not for all applications; empty for other routes. */
const scopesNeeded = (action: Action): string =>
  mayTake('caller', action) ? '' : ` It needs a key with the scope ${scopesFor(action)}.`;

/** The documentation that a route gets because of its path, in addition to its own. */
interface RouteExtras extends Required<Pick<RouteDocs, 'headers' | 'errors'>> {
  /** The field that examples of errors name if the route names none. */
  readonly field?: string;
}

const NONE: RouteExtras = { headers: {}, errors: [] };
/** The documentation of a route that runs only once for an `Idempotency-Key`. */
const ONCE_FOR_NAME: RouteExtras = {
  headers: { 'x-signalbox-replayed': '`true` if this is the stored answer of an earlier request.' },
  errors: [
    ...(['invalid_value', 'in_flight', 'idempotency_key_reused', 'idempotency_answer_unavailable'] as const),
    'overloaded',
  ],
  field: 'Idempotency-Key',
};

/**
 * The member of a route's `detail` that makes its `responses`. The responses are made late, because the start of a server needs none of
 * their hundreds of examples.
 */
const RESPONSES_DETAIL = 'x-responses';

/** Makes the `responses` of routes for a document. */
export function documentResponses(routes: AnyElysia['routes']): void {
  for (const { hooks, method, path } of routes) {
    const make: unknown = hooks.detail?.[RESPONSES_DETAIL];
    if (typeof make === 'function') hooks.detail.responses = make(isOnceForName(method, path) ? ONCE_FOR_NAME : NONE);
  }
}

/** The schema of a stream event in the form of OpenAPI 3.2: the data is a string that contains JSON. */
function eventOf({ schema, end }: NonNullable<RouteDocs['events']>) {
  const data = t.String({ contentMediaType: 'application/json', contentSchema: schema });
  return t.Object({ event: t.Optional(t.String()), data: end === undefined ? data : t.Union([t.Literal(end), data]) });
}

function answerResponse(answer: RouteDocs['answer'], events: RouteDocs['events']) {
  const { schema, description, mediaType = 'application/json' } = answer;
  const content = { [mediaType]: { schema, example: answerExample(answer) } };
  const stream = events && { ...events, schema: eventOf(events) };
  const other = stream ?? (answer.text && { ...answer.text, schema: t.String() });
  if (!other) return { description, content };
  const either = { ...content, [other.mediaType]: { schema: other.schema, example: other.example } };
  return { description: `${description} ${other.description}`, content: either };
}

function headersOf({ headers = {} }: RouteDocs, more: RouteExtras['headers']) {
  const documented = Object.entries({ ...headers, ...more }).map(([name, description]) => {
    return [name, { description, schema: { type: 'string' } }] as const;
  });
  return documented.length > 0 && { headers: Object.fromEntries(documented) };
}

const answerExample = ({ schema, example, differs }: RouteDocs['answer']): unknown =>
  example ?? Object.assign({}, exampleOf(schema), differs);

/** Codes of errors about one field, which the error names. */
const FIELD_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'invalid_type',
  'invalid_value',
  'missing_field',
  'out_of_range',
]);

function paramOf(code: ErrorCode, param: string | undefined) {
  if (!FIELD_ERRORS.has(code)) return {};
  if (param === undefined) throw new Error(`A route with the error ${code} needs \`errorField\`.`);
  return { param };
}

/** Makes a response for each status, with an example of each error code of the status. */
function errorResponses(codes: readonly ErrorCode[], field: string | undefined, { schema, body }: ErrorForm) {
  const byStatus = Map.groupBy(new Set(codes), (code) => ERRORS[code].status);
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, group]) => [
        status,
        {
          description: group.map((code) => `- \`${code}\`: ${ERRORS[code].means}`).join('\n'),
          content: {
            'application/json': {
              schema,
              examples: Object.fromEntries(
                group.map((code) => [
                  code,
                  { value: body(new SignalboxError(code, ERRORS[code].means, paramOf(code, field))) },
                ]),
              ),
            },
          },
        },
      ]),
  );
}
