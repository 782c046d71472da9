import { Type } from '@sinclair/typebox';
import { always, arrayOf, count, flag, modelId, named, shape, text, tokens, word } from '../../core/api/parts.ts';
import { Platform } from '../../core/api/platform.ts';

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
  content: shape('The content.', { role: always('model'), parts: arrayOf(part, 'The parts.') }),
  finishReason: Type.Optional(
    Type.Union([word(['STOP', 'MAX_TOKENS', 'SAFETY'], 'Why the candidate ended.'), Type.String()]),
  ),
  index: count('The index of the candidate.', 0),
});

/** A whole answer, or one piece of a stream. Only the last piece has the usage and `platform`. */
export const GenerateResponse = named('GenerateContentResponse', 'An answer, or a piece of one.', {
  candidates: arrayOf(candidate, 'The candidates.'),
  usageMetadata: Type.Optional(
    shape('The tokens of the answer. A stream has them in its last response.', {
      promptTokenCount: tokens('Input tokens, including cached ones.', 12),
      cachedContentTokenCount: Type.Optional(tokens('Part of the input that was read from the provider’s cache.', 0)),
      candidatesTokenCount: tokens('Output tokens without thoughts.', 34),
      thoughtsTokenCount: Type.Optional(tokens('Tokens of thoughts.', 20)),
      totalTokenCount: tokens('The sum of all.', 66),
    }),
  ),
  modelVersion: modelId('The model that answered.'),
  responseId: text('The ID of the answer.', 'resp_0a4x1wm3zk0'),
  platform: Type.Optional(Platform),
});
