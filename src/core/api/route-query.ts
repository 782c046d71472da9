import { type Static, Type } from '@sinclair/typebox';
import { nullable, nullableMembers, onlyNull } from '../nullable.ts';
import { isObject } from '../object.ts';
import { ChatRequest } from './chat-request.ts';
import { Dimensions, Input } from './embedding-query.ts';
import { ROUTING_FIELDS } from './routing-fields.ts';

const { constraints, route_strategy } = ROUTING_FIELDS;

const model = nullable(
  Type.String({
    minLength: 1,
    maxLength: 256,
    default: 'auto',
    description: 'A selector, or a model ID to estimate.',
  }),
);

/** Fields of a route query alone. Beside messages each overrides the fact that would be read from them. */
const HINTS = {
  task_type: nullable(
    Type.String({
      maxLength: 64,
      description:
        'Such as `coding`. An unknown one is treated as `general`. With `messages`: in place of the task that they are read as.',
    }),
  ),
  estimated_input_tokens: nullable(
    Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      description: 'Expected input, in tokens. With `messages`: in place of their own size.',
    }),
  ),
  estimated_output_tokens: nullable(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000_000,
      description:
        'Expected output, in tokens. With `messages`: in place of what they ask for; `max_tokens` still caps it.',
    }),
  ),
};

/** A route query without a conversation. All fields are optional; others are refused. */
export const RouteQuery = Type.Object(
  {
    model,
    operation: nullable(
      Type.Union([Type.Literal('chat'), Type.Literal('embed')], {
        default: 'chat',
        description: 'What the model is to do: answer, or embed `input`.',
      }),
    ),
    input: nullable({ ...Input, description: 'With `operation: embed`: the texts to embed.' }),
    dimensions: nullable({ ...Dimensions, description: 'With `operation: embed`: how many numbers each vector has.' }),
    ...HINTS,
    messages: onlyNull('With messages, the body is a whole chat request.'),
    user: nullable(Type.String({ description: 'As in a chat request; for the policy’s rules.' })),
    metadata: nullable(
      nullableMembers(Type.String(), { description: 'As in a chat request; for the policy’s rules.' }),
    ),
    constraints,
    route_strategy,
  },
  { additionalProperties: false, $id: 'RouteQuery' },
);
export type RouteQuery = Static<typeof RouteQuery>;

/** A whole chat request that a model is to be recommended for: every field of a chat, with those of a route query. */
export const RouteChat = Type.Object(
  { ...ChatRequest.properties, model, ...HINTS },
  { additionalProperties: true, $id: 'RouteChatRequest' },
);

/** The body of `POST /v1/route`: a chat request where it has messages. */
export const RouteRequest = Type.Union([RouteQuery, RouteChat]);
export type RouteRequest = Static<typeof RouteRequest>;

/** Which of its two forms a body of `POST /v1/route` is meant to have. */
export const isRouteChat = (body: unknown): boolean => isObject(body) && body.messages != null;

/** Whether a checked body asks about embeddings. */
export const isEmbeddingQuery = (body: RouteRequest): body is RouteQuery =>
  'operation' in body && body.operation === 'embed';
