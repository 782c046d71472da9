import { type Static, Type } from '@sinclair/typebox';
import { ChatMessage, RouteConstraints, RouteStrategy } from './chat-request.ts';

/** The route query: what to recommend a model for. All fields are optional. */
export const RouteQuery = Type.Object(
  {
    model: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        default: 'auto',
        description: 'A selector, or a model ID to estimate.',
      }),
    ),
    task_type: Type.Optional(
      Type.String({ maxLength: 64, description: 'Such as `coding`. An unknown one is treated as `general`.' }),
    ),
    estimated_input_tokens: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: 'Expected input, in tokens.' }),
    ),
    estimated_output_tokens: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Expected output, in tokens.' }),
    ),
    messages: Type.Optional(
      Type.Array(ChatMessage, {
        minItems: 1,
        description: 'The real conversation: task and size are then read from it.',
      }),
    ),
    user: Type.Optional(Type.String({ description: 'As in a chat request; for the policy’s rules.' })),
    metadata: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'As in a chat request; for the policy’s rules.' }),
    ),
    constraints: Type.Optional(RouteConstraints),
    route_strategy: Type.Optional(RouteStrategy),
  },
  { additionalProperties: false, $id: 'RouteQuery' },
);
export type RouteQuery = Static<typeof RouteQuery>;
