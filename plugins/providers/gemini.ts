import { type Capability, defineProvider, Type } from 'signalbox/plugin';
import { AnswerReader, readReply } from './gemini/answer.ts';
import { readFailure } from './gemini/failure.ts';
import { isFixed, isFrom } from './gemini/generation.ts';
import { buildRequest } from './gemini/request.ts';

/** Google's Gemini API: `generateContent` and its stream. */
export const gemini = defineProvider({
  name: 'gemini',
  status: 'stable',
  settings: Type.Object({}, { additionalProperties: false, description: "Google's Gemini API." }),
  presets: {
    gemini: {
      baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
      apiKeyEnv: 'GEMINI_API_KEY',
      passthrough: ['safetySettings'],
      // It caches by itself, from 4,096 tokens on with current models, and does not say for how long: minutes at least.
      cache: { ttlS: 300, tokensMin: 4_096 },
    },
  },
  prepare: () => ({
    kind: 'wire',
    dialect: 'gemini',
    frames: 'sse',
    auth: { header: 'x-goog-api-key', prefix: '' },
    request: buildRequest,
    reply: readReply,
    stream: () => new AnswerReader(),
    failure: readFailure,
    lacks: (_model, upstream) => lacks(upstream),
  }),
});

/** What no model takes. Penalties have a field, and since Gemini 2.0 was shut down every model refuses it. */
const NEVER: readonly Capability[] = ['logit_bias', 'penalties', 'single_tool_calls', 'file_ids'];

function lacks(upstream: string): readonly Capability[] {
  const lacking = [...NEVER];
  if (!isFrom(upstream, 2, 5)) lacking.push('image_urls');
  // Later ones give one candidate.
  lacking.push(isFrom(upstream, 3) ? 'choices' : 'json_with_tools');
  if (isFixed(upstream)) lacking.push('continuation');
  return lacking;
}
