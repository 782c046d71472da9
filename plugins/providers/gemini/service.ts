import { Type, type WireAdapter } from 'signalbox/plugin';
import { BEARER } from '../bearer.ts';

export const GeminiSettings = Type.Object(
  {
    service: Type.Union([Type.Literal('gemini'), Type.Literal('vertex')], {
      default: 'gemini',
      description:
        'The service. Vertex AI names models as those of a publisher, expects a bearer token, and has neither embeddings nor tiers in this form.',
    }),
  },
  { additionalProperties: false, description: "Google's Gemini API." },
);
export type GeminiService = (typeof GeminiSettings.static)['service'];

// The headers of @google/genai 2.32.0.
export const AUTH: Readonly<Record<GeminiService, NonNullable<WireAdapter['auth']>>> = {
  gemini: { header: 'x-goog-api-key', prefix: '' },
  vertex: BEARER,
};

/** The path that comes before the resource of a model. */
export const PUBLISHER: Readonly<Record<GeminiService, string>> = { gemini: '', vertex: '/publishers/google' };
