import type { TSchema } from '@sinclair/typebox';
import type { AnyElysia } from 'elysia';
import { isObject } from '../../core/object.ts';
import { ACCESS_DETAIL } from '../routes.ts';
import { PAYMENT_IDS, PAYMENTS_TAG } from '../x402/route-docs.ts';
import { RESPONSES_DETAIL } from './route-docs.ts';

type Json = { [name: string]: unknown };

const DESCRIPTION = `One OpenAI-compatible endpoint in front of many models. \`model\` is a model's ID or a selector that
chooses one: \`auto\`, \`auto-fast\`, \`auto-cheap\`. Amounts of money are Credits, with at most 6 decimals.
An error has the body \`{"error": {"message", "type", "param", "code"}}\`; on \`/v1/messages\` it has Anthropic's. The header
\`x-should-retry\` says whether the same request can succeed later.`;

const KEY = 'An API key: `sb_live_…`.';

const ABOUT = {
  openapi: '3.1.0',
  tags: [
    { name: 'chat', description: 'Completions' },
    { name: 'embeddings', description: 'Vectors of texts' },
    { name: 'route', description: 'Recommendations, at no cost' },
    { name: 'models', description: 'Models and selectors that requests can name' },
    { name: 'decisions', description: 'Why a model was chosen, and the outcome' },
    { name: 'usage', description: 'Spend so far, and what is left' },
    PAYMENTS_TAG,
    { name: 'admin', description: 'For operators: keys with the scope `admin`' },
    { name: 'health', description: 'For load balancers; no key' },
  ],
  servers: [{ url: '/' }],
};

const SECURITY = {
  apiKey: { type: 'http', scheme: 'bearer', description: KEY },
  apiKeyHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: `${KEY} The header \`api-key\` takes it, too.`,
  },
};

/** The OpenAPI document of the routes. Schemas that have a title become components; each is written once. */
export function openApiDocument(version: string, { routes }: AnyElysia): object {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  for (const { method, path, hooks } of routes) {
    if (hooks.detail.hide) continue;
    const shown = path.replaceAll(/:(\w+)/g, '{$1}');
    paths[shown] = { ...paths[shown], [method.toLowerCase()]: operationOf(method, shown, hooks, schemas) };
  }
  const license = { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' };
  return {
    ...ABOUT,
    info: { title: 'Signalbox', version, description: DESCRIPTION, license },
    paths,
    components: {
      securitySchemes: SECURITY,
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}

function operationOf(
  method: string,
  path: string,
  { detail, query, body }: AnyElysia['routes'][number]['hooks'],
  schemas: Json,
) {
  const { request, [RESPONSES_DETAIL]: responses, 'x-requests': requests, [ACCESS_DETAIL]: _, ...rest } = detail;
  const parameters = [...(path.includes('{id}') ? [idParameter(path)] : []), ...queryParameters(query)];
  const schema = body ?? request;
  return {
    operationId: method.toLowerCase() + path.split('/').map(idPart).join(''),
    ...rest,
    ...(parameters.length > 0 && { parameters }),
    ...(schema && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: fold(schema, schemas), ...(requests && { examples: requests }) } },
      },
    }),
    responses: fold(responses(), schemas),
  };
}

const idPart = (part: string): string => (part.startsWith('{') ? `By${capital(part.slice(1, -1))}` : capital(part));
const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

const queryParameters = (query: TSchema | undefined): Json[] =>
  Object.entries<TSchema>(query?.properties ?? {}).map(([name, { description, examples, ...schema }]) => ({
    description,
    examples,
    schema,
    in: 'query',
    name,
    required: query?.required?.includes(name) ?? false,
  }));

const idParameter = (path: string): Json => ({
  name: 'id',
  in: 'path',
  required: true,
  schema: { type: 'string' },
  description: ID_MEANINGS.find(([part]) => path.includes(part))?.[1] ?? 'The ID of a model or a selector.',
});

const ID_MEANINGS = [
  ['/decisions/', 'A `decision_id`.'],
  ['/keys/', 'The ID of a key: the part between `sb_live_` and the next `_`.'],
  ...PAYMENT_IDS,
] as const;

/** Names that a schema may have: those of components. */
const COMPONENT = /^[A-Z][A-Za-z]+$/;

/** Moves schemas that have a name to the components and leaves references; drops TypeBox's own fields. */
function fold(value: unknown, schemas: Json): unknown {
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
