import { type AnyElysia, Elysia } from 'elysia';
import { isObject } from '../../core/json/object.ts';
import type { Surface } from '../../dialects/surface.ts';
import { KEY_HEADERS } from '../kit/credentials.ts';
import { unescapedTemplate } from '../kit/path-template.ts';
import { documentResponses } from '../kit/route-docs.ts';
import { ACCESS_DETAIL, isOnceForName } from '../kit/route-table.ts';
import { PAYMENT_IDS, PAYMENTS_TAG } from '../x402/route-docs.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type JsonObject = { [name: string]: Json };

const descriptionOf = (
  surfaces: readonly Surface[],
): string => `One OpenAI-compatible endpoint in front of many models. \`model\` is a model's ID or a selector that
chooses one: \`auto\`, \`auto-fast\`, \`auto-cheap\`. Amounts of money are Credits, with at most 6 decimals.
An error has the body \`{"error": {"message", "type", "param", "code"}}\`.${surfaces.map(ownErrors).join('')} The header
\`x-should-retry\` says whether the same request can succeed later.`;

/** Says where errors have the form of a dialect instead. */
function ownErrors({ maker, routes: [{ path }], requestIdHeader, versionHeader }: Surface): string {
  if (versionHeader === undefined) return '';
  const header = requestIdHeader === undefined ? '' : `, and the answer has the header\n\`${requestIdHeader}\``;
  return ` It has ${maker}'s shape${header}, on \`${path}\`, and on \`/v1/models\` and unknown paths for a request with the header \`${versionHeader}\`.`;
}

const KEY = 'An API key: `sb_live_…`.';
const [, FIRST_HEADER, ...OTHER_HEADERS] = KEY_HEADERS;
const SECURITY_SCHEMES = {
  apiKey: { type: 'http', scheme: 'bearer', description: KEY },
  apiKeyHeader: {
    type: 'apiKey',
    in: 'header',
    name: FIRST_HEADER ?? 'authorization',
    description: [KEY, ...OTHER_HEADERS.map((name) => `The header \`${name}\` also works.`)].join(' '),
  },
} as const;

/** The groups of routes that follow the dialects. */
const TAGS = [
  { name: 'Routing', description: 'Recommendations, at no cost' },
  { name: 'Models', description: 'Models and selectors that requests can name' },
  { name: 'Decisions', description: 'The reasons for choosing a model, and the result' },
  { name: 'Usage', description: 'Spend so far, and the remaining budget' },
  { name: 'Child keys', description: 'Keys that a key with the scope `delegate` creates for sub-agents' },
  PAYMENTS_TAG,
  {
    name: 'Operators',
    description: 'For keys with the scope `admin`, and with the scope `report` for reading figures',
  },
  { name: 'Health', description: 'For load balancers, without a key' },
];

/**
 * Makes the OpenAPI document of the routes. @elysiajs/swagger collects the routes, and the result is converted to OpenAPI 3.1. Each schema
 * with a title becomes a component and is written once.
 */
export async function openApiDocument(
  version: string,
  routes: AnyElysia,
  surfaces: readonly Surface[],
): Promise<object> {
  // The import loads about a hundred modules that the start of a server does not need.
  const { swagger } = await import('@elysiajs/swagger');
  documentResponses(routes.routes);
  const collector = new Elysia({ normalize: false }).use(
    swagger({
      path: '/page',
      specPath: '/document',
      excludeStaticFile: false,
      exclude: ['/page', '/document'],
      documentation: {
        info: {
          title: 'Signalbox',
          version,
          description: descriptionOf(surfaces),
          license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
        },
        components: { securitySchemes: SECURITY_SCHEMES },
        tags: [
          ...surfaces.map(({ dialect, routes: [{ path }] }) => ({ name: dialect, description: `\`${path}\`` })),
          ...TAGS,
        ],
      },
    }),
  );
  collector.use(routes);
  const collected = (await (await collector.handle(new Request('http://localhost/document'))).json()) as JsonObject;
  return mend(collected);
}

function mend(collected: JsonObject): JsonObject {
  const components = isObject(collected.components) ? collected.components : {};
  const schemas: JsonObject = {};
  const paths: JsonObject = {};
  for (const [path, methods] of Object.entries(isObject(collected.paths) ? collected.paths : {})) {
    if (!isObject(methods)) continue;
    paths[unescapedTemplate(path)] = Object.fromEntries(
      Object.entries(methods).map(([method, one]) => [
        method,
        isObject(one) ? mendOperation(one, path, method, schemas) : one,
      ]),
    );
  }
  const { openapi: _, servers: __, ...rest } = collected;
  return {
    openapi: '3.1.0',
    ...rest,
    servers: [{ url: '/' }],
    paths,
    components: {
      ...components,
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}

function mendOperation(one: JsonObject, path: string, method: string, schemas: JsonObject): JsonObject {
  const { parameters, requestBody, responses, 'x-requests': requests, [ACCESS_DETAIL]: _, ...rest } = one;
  const queried = Array.isArray(parameters)
    ? parameters.flatMap((each) => (isObject(each) && each.in === 'query' ? withOwnExamples(each) : []))
    : [];
  const asked = [
    ...parametersIn(path),
    ...queried,
    ...(isOnceForName(method.toUpperCase(), path) ? [NAME_PARAMETER] : []),
    ...(isObject(responses) && '412' in responses ? [VERSION_PARAMETER] : []),
  ];
  const body =
    isObject(requestBody) && isObject(requestBody.content) ? requestBody.content['application/json'] : undefined;
  return {
    ...rest,
    ...(asked.length > 0 && { parameters: asked }),
    ...(isObject(body) && {
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: fold(body.schema ?? {}, schemas),
            ...(requests !== undefined && { examples: requests }),
          },
        },
      },
    }),
    responses: fold(responses ?? {}, schemas),
  };
}

/** Moves examples of a parameter to its schema, where they are a list. The plugin leaves those of a union beside the schema. */
const withOwnExamples = ({ examples, ...rest }: JsonObject): JsonObject =>
  examples === undefined || !isObject(rest.schema) ? rest : { ...rest, schema: { ...rest.schema, examples } };

const parametersIn = (path: string): JsonObject[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    description: ID_MEANINGS.find(([part]) => path.includes(part))?.[1] ?? 'The ID of a model or a selector.',
  }));

const NAME_PARAMETER: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
  description:
    'A name for this change, of 1 to 255 printable ASCII characters. For 24 hours, a repeat with the same name, path and body gets the same answer and changes nothing.',
};

/** The header `If-Match` of a route that may answer with status 412. */
const VERSION_PARAMETER: JsonObject = {
  name: 'If-Match',
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description:
    'The version that you expect: the `etag` of an earlier answer, or a revision of the policy. If the current version differs, the change is refused.',
};

const ID_MEANINGS = [
  ['/decisions/', 'A `decision_id`.'],
  ['/keys/', 'The ID of a key: the part between `sb_live_` and the next `_`.'],
  ...PAYMENT_IDS,
] as const;

/** Matches the schema names that may become components. */
const COMPONENT = /^[A-Z][A-Za-z]+$/;

/** Moves named schemas to the components, replaces them by references, and removes TypeBox's own fields. */
function fold(value: Json, schemas: JsonObject): Json {
  if (Array.isArray(value)) return value.map((item) => fold(item, schemas));
  if (!isObject(value)) return value;
  const { $id, ...plain } = value;
  const folded = Object.fromEntries(
    Object.entries(plain).map(([name, item]) => [
      name,
      name === 'example' || name === 'examples' ? item : fold(item, schemas),
    ]),
  );
  const name = typeof $id === 'string' ? $id : value.title;
  const isSchema = 'type' in value || 'anyOf' in value;
  if (typeof name !== 'string' || !COMPONENT.test(name) || !isSchema) return folded;
  schemas[name] = { title: name, ...folded };
  return { $ref: `#/components/schemas/${name}` };
}
