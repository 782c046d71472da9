import { KindGuard, type TSchema, Type } from '@sinclair/typebox';
import { refuse, SignalboxError } from '../core/errors.ts';
import { isObject } from '../core/json/object.ts';
import type { Members } from '../core/json/original.ts';
import { keepSource } from '../core/json/source.ts';
import type { ModelRequest } from '../core/request/model-request.ts';
import { nullable } from '../core/schema/nullable.ts';
import { readRoute } from './openai-chat/read-body.ts';
import { readRouteRequest } from './openai-chat/reader.ts';
import { openaiChat } from './openai-chat/surface.ts';
import { answerRoutesOf } from './surface.ts';
import { SURFACES } from './surfaces.ts';

/** The field that names the dialect of a body if its form is ambiguous. */
const DIALECT = 'dialect';
const ROUTES = answerRoutesOf(SURFACES);
/** The dialects of bodies that `/v1/route` can recommend a model for. */
export const ROUTE_DIALECTS: readonly string[] = [...new Set(ROUTES.map(({ surface }) => surface.name))];

/** The schemas of the bodies that `/v1/route` recognizes, other than OpenAI's chat completions. */
export const OTHER_BODIES = ROUTES.filter(({ route }) => route.owns !== undefined).map(({ route }) =>
  withoutModel(route.docs.request),
);

/** Fields that only a `/v1/route` request has. */
const HINTS = ['task_type', 'estimated_input_tokens', 'estimated_output_tokens'] as const;

const NO_HEADERS = new Headers();

/**
 * Reads the body of `/v1/route`: a route query, or a whole body of any dialect, with or without a `model`.
 * @throws SignalboxError for the field at fault
 */
export function readRouteBody(body: unknown, headers: Headers = NO_HEADERS): ModelRequest {
  if (!isObject(body)) return readRouteRequest(readRoute(body));
  const { [DIALECT]: stated } = body;
  const fields = DIALECT in body ? withoutDialect(body) : body;
  // A body that has the form of no other dialect counts as OpenAI's chat completions.
  const dialect = stated ?? ROUTES.find(({ route }) => route.owns?.(fields))?.surface.name ?? openaiChat.name;
  if (dialect === openaiChat.name) return readRouteRequest(readRoute(fields));
  const route = ROUTES.find(({ surface }) => surface.name === dialect)?.route;
  if (!route) {
    const message = `\`${DIALECT}\` must be one of ${ROUTE_DIALECTS.join(', ')}.`;
    refuse(DIALECT, message);
  }
  const hint = HINTS.find((name) => fields[name] != null);
  if (hint !== undefined) {
    const message = `\`${hint}\` can only be sent without a body, or with a body of OpenAI’s chat completions, not with a body of ${route.path}.`;
    throw new SignalboxError('unknown_field', message, { param: hint });
  }
  const named = keepSource(fields, { ...fields, model: fields.model ?? 'auto' });
  return route.read({ body: named, headers, params: {}, query: '' }).request;
}

/** Returns the schema of a request that needs no `model`. */
function withoutModel(request: TSchema): TSchema {
  if (!KindGuard.IsObject(request) || !request.required?.includes('model')) return request;
  const { model, ...others } = request.properties;
  const { additionalProperties, $id } = request;
  const options = { ...(additionalProperties !== undefined && { additionalProperties }), $id: `Route${$id}` };
  return Type.Object({ model: nullable(model!), ...others }, options);
}

function withoutDialect(body: Members): Members {
  const { [DIALECT]: _, ...fields } = body;
  return keepSource(body, fields);
}
