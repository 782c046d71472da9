import { type Capability, defineProvider, Type } from 'signalbox/plugin';
import { GeminiReader, readReply } from './gemini/answer.ts';
import { countRequest, MARGIN, readCount } from './gemini/count.ts';
import { embeddings } from './gemini/embeddings.ts';
import { readFailure } from './gemini/failure.ts';
import { hasFixedSampling, isFrom } from './gemini/generation.ts';
import { modelList } from './gemini/model-list.ts';
import { buildRequest } from './gemini/request.ts';

/** Google's Gemini API: `generateContent` and its stream, `batchEmbedContents`, `countTokens`. */
export const gemini = defineProvider({
  contract: 2,
  name: 'gemini',
  status: 'stable',
  settings: Type.Object({}, { additionalProperties: false, description: "Google's Gemini API." }),
  presets: {
    gemini: {
      baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
      apiKeyEnv: 'GEMINI_API_KEY',
      passthrough: ['safetySettings'],
      // Implicit caching, from 4,096 tokens with current models, for an undocumented time: minutes at least.
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
    stream: () => new GeminiReader(),
    failure: readFailure,
    embeddings,
    modelList,
    tokenCount: { request: countRequest, reply: readCount, margin: MARGIN },
    lacks: (_model, upstream) => lacks(upstream),
    // ai.google.dev/api/generate-content#GenerationConfig
    takesStops: (stops) => stops.length <= 5,
  }),
});

/** Capabilities of no model. Penalties have a field, which every model since Gemini 2.0 refuses. */
const UNSUPPORTED: readonly Capability[] = ['logit_bias', 'penalties', 'single_tool_calls', 'file_ids'];

function lacks(upstream: string): readonly Capability[] {
  const lacking = [...UNSUPPORTED];
  if (!isFrom(upstream, 2, 5)) lacking.push('image_urls');
  // Later models give one candidate.
  lacking.push(isFrom(upstream, 3) ? 'choices' : 'json_with_tools');
  if (hasFixedSampling(upstream)) lacking.push('continuation');
  return lacking;
}
