import { type Static, Type } from '@sinclair/typebox';
import { isObject } from '../json/object.ts';
import { OPERATION_NAMES, OPERATIONS, TEXT_OPERATIONS, type TextOperation } from '../kinds/operations.ts';
import { nullable, onlyNull, textMembers } from '../schema/nullable.ts';
import { ChatRequest } from './chat-request.ts';
import { Dimensions, Input } from './embedding-query.ts';
import { ROUTING_FIELDS } from './routing-fields.ts';

const { constraints, route_strategy } = ROUTING_FIELDS;

const model = nullable(
  Type.String({
    minLength: 1,
    maxLength: 256,
    default: 'auto',
    description: 'A selector, or the ID of a model to estimate.',
  }),
);

/**
 * Fields that only a route query has. If a route query has messages, these fields override the facts that Signalbox would read from the
 * messages.
 */
const HINTS = {
  task_type: nullable(
    Type.String({
      maxLength: 64,
      description:
        'The task, such as `coding`. An unknown task counts as `general`. With `messages`, it replaces the task that Signalbox reads from them.',
    }),
  ),
  estimated_input_tokens: nullable(
    Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      description: 'Expected input, in tokens. With `messages`, it replaces the size of the messages.',
    }),
  ),
  estimated_output_tokens: nullable(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000_000,
      description:
        'Expected output, in tokens. With `messages`, it replaces the length that Signalbox expects from them; `max_tokens` still caps it.',
    }),
  ),
};

/** A route query without a conversation. All fields are optional; unknown fields are refused. */
export const RouteQuery = Type.Object(
  {
    model,
    operation: nullable(
      Type.Union(
        OPERATION_NAMES.map((name) => Type.Literal(name)),
        {
          default: 'chat',
          description: `What the model is to do: ${OPERATION_NAMES.map((name) => `\`${name}\` ${OPERATIONS[name].means}`).join(', ')}.`,
        },
      ),
    ),
    input: nullable({
      ...Input,
      description: `With ${TEXT_OPERATIONS.map((name) => `\`operation: ${name}\``).join(' or ')}: the texts.`,
    }),
    dimensions: nullable({ ...Dimensions, description: 'With `operation: embed`: how many numbers each vector has.' }),
    ...HINTS,
    messages: onlyNull('With messages, the body is a whole chat request.'),
    user: nullable(
      Type.String({ description: 'The end user, as in a chat request. Only rules of the policy read it.' }),
    ),
    metadata: nullable(
      textMembers({
        description: 'Metadata, as in a chat request. Only rules of the policy read it.',
      }),
    ),
    constraints,
    route_strategy,
  },
  { additionalProperties: false, $id: 'RouteQuery' },
);
export type RouteQuery = Static<typeof RouteQuery>;

/** A whole chat request for which the caller wants a recommendation: every field of a chat, and the fields of a route query. */
export const RouteChat = Type.Object(
  { ...ChatRequest.properties, model, ...HINTS },
  { additionalProperties: true, $id: 'RouteChatRequest' },
);

/** The body of `POST /v1/route`. The body of `POST /v1/route` is a chat request if it has messages. */
export const RouteRequest = Type.Union([RouteQuery, RouteChat]);
export type RouteRequest = Static<typeof RouteRequest>;

/** Whether a body of `POST /v1/route` is a chat request rather than a route query. */
export const isRouteChat = (body: unknown): boolean => isObject(body) && body.messages != null;

/** Whether a checked body asks for a recommendation for an operation on separate texts. */
export const isTextQuery = (body: RouteRequest): body is RouteQuery & { readonly operation: TextOperation } =>
  'operation' in body && TEXT_OPERATIONS.some((name) => name === body.operation);
