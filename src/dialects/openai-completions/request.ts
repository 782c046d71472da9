import { type Static, Type } from '@sinclair/typebox';
import { ChatRequest } from '../../core/api/chat-request.ts';
import { ROUTING_FIELDS } from '../../core/api/routing-fields.ts';
import { STOP_CHARS_MAX, STOPS_MAX } from '../../core/request/stop-search.ts';
import { nullable } from '../../core/schema/nullable.ts';
import type { LackedFeatures } from '../surface.ts';

/** The request of OpenAI's older completions, with Signalbox's additions. */

const Stop = Type.String({ maxLength: STOP_CHARS_MAX });
/** Fields that chats have with the same meaning. */
const SHARED = Type.Pick(ChatRequest, [
  ...(['temperature', 'top_p', 'n', 'seed', 'presence_penalty', 'frequency_penalty'] as const),
  ...(['stream', 'stream_options', 'service_tier', 'user', 'metadata'] as const),
]).properties;

export const CompletionsRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 256, description: 'A model ID or a selector such as `auto`.' }),
    prompt: Type.Union(
      [Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 1 })],
      {
        description: 'The text that the model continues; a list may have one text.',
      },
    ),
    suffix: nullable(Type.String({ description: 'The text after the answer. Not every model accepts it.' })),
    max_tokens: nullable(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        description: 'The maximum number of output tokens. Default: 16, as in OpenAI’s API.',
      }),
    ),
    ...SHARED,
    stop: nullable(Type.Union([Stop, Type.Array(Stop, { maxItems: STOPS_MAX })])),
    ...ROUTING_FIELDS,
  },
  { additionalProperties: true, $id: 'CompletionsRequest' },
);
export type CompletionsRequest = Static<typeof CompletionsRequest>;

/** Features of chats that completions lack, with their fields in OpenAI's chat, Responses and Ollama's API. */
export const LACKS = {
  tools: ['tools', 'tool_choice', 'functions', 'function_call'],
  turns: ['messages', 'input'],
  instructions: ['instructions', 'system'],
  media: ['images'],
} as const satisfies LackedFeatures;

/** The fields with a neutral meaning. All other fields are extras. */
export const KNOWN_FIELDS: readonly string[] = Object.keys(CompletionsRequest.properties);
