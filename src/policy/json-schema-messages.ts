import { ChatMessage } from '../surface/openai-chat/request.ts';
import { wordsOf } from './json-schema-words.ts';

/** OpenAI's messages in brief. The loader checks the whole shape. */
export const MESSAGES = {
  type: 'array',
  minItems: 1,
  items: {
    title: 'Message',
    description: 'A message as in a chat request, in the shape that OpenAI gave it.',
    type: 'object',
    required: ['role'],
    properties: {
      role: {
        title: 'Role',
        description: 'Who speaks. Required.',
        type: 'string',
        enum: (wordsOf(ChatMessage.properties.role) ?? []).map(([role]) => role),
      },
      content: {
        title: 'Content',
        description: 'What is said: a text, or a list of parts.',
        type: ['string', 'array', 'null'],
      },
    },
  },
};
