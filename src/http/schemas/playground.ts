import { type Static, Type } from '@sinclair/typebox';
import * as field from '../../core/api/parts.ts';

/** The dialects of the playground, with the paths of their surfaces. */
export const PLAYGROUND_PATHS = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  embeddings: '/v1/embeddings',
} as const;
const DIALECTS = ['chat', 'responses', 'messages', 'embeddings'] as const satisfies (keyof typeof PLAYGROUND_PATHS)[];

export const PlaygroundRequest = field.body('A request, and the key that it is sent as.', {
  key: Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'The ID of a key of your own.',
    examples: ['k7mw2pq9x4ta'],
  }),
  dialect: field.word(DIALECTS, 'The dialect of `body`, and of the answer.', 'chat'),
  body: Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'The body, as the path of the dialect takes it.',
      examples: [{ model: 'auto', messages: [{ role: 'user', content: 'Hello' }] }],
    },
  ),
});
export type PlaygroundRequest = Static<typeof PlaygroundRequest>;
