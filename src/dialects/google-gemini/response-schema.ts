import { Type } from '@sinclair/typebox';
import { Platform } from '../../core/decision/platform.ts';
import { modelId, servedTier } from '../../core/decision/shared-fields.ts';
import { always, count, flag, list, named, shape, text, word } from '../../core/define/fields.ts';

const part = Type.Partial(
  shape('A part.', {
    text: text('The text, or its next piece.'),
    thought: flag('True for a thought. Thoughts are sent only with `includeThoughts`.', true),
    thoughtSignature: text('State that only the model that wrote it can read. Send it back unchanged with its part.'),
    functionCall: shape('A call of a function.', {
      id: text('The ID of the call. The `functionResponse` repeats it.', 'call_0a4x1wm3'),
      name: text('The function.', 'weather'),
      args: shape('The arguments. If the model wrote no JSON object: `{"INVALID_JSON": "…"}`.', {}),
    }),
  }),
);

const candidate = Type.Object({
  content: shape('The content.', { role: always('model'), parts: list(part, 'The parts.') }),
  finishReason: Type.Optional(
    Type.Union([word(['STOP', 'MAX_TOKENS', 'SAFETY'], 'Why the candidate ended.'), Type.String()]),
  ),
  index: count('The index of the candidate.', 0),
});

/** A whole answer, or one piece of a stream. Only the last piece has the usage and `platform`. */
export const GenerateResponse = named('GenerateContentResponse', 'An answer, or a piece of one.', {
  candidates: list(candidate, 'The candidates.'),
  usageMetadata: Type.Optional(
    shape('The tokens of the answer. A stream has them in its last response.', {
      promptTokenCount: count('Input tokens, including cached ones.', 12),
      cachedContentTokenCount: Type.Optional(count('Part of the input that was read from the provider’s cache.', 0)),
      candidatesTokenCount: count('Output tokens without thoughts.', 34),
      thoughtsTokenCount: Type.Optional(count('Tokens of thoughts.', 20)),
      totalTokenCount: count('The sum of all.', 66),
      serviceTier: Type.Optional(servedTier),
    }),
  ),
  modelVersion: modelId('The model that answered.'),
  responseId: text('The ID of the answer.', 'resp_0a4x1wm3zk0'),
  platform: Type.Optional(Platform),
});
