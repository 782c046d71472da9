import { platform } from '../../core/decision/platform.ts';

/** The request bodies shown in the documentation. Tests check the request bodies against the schemas. */

export const GEMINI_REQUESTS = {
  simple: {
    summary: 'Let Signalbox choose: the model `auto` in the path',
    value: { contents: [{ role: 'user', parts: [{ text: 'Say hello.' }] }] },
  },
  tools: {
    summary: 'With a function and a hard limit',
    value: {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ role: 'user', parts: [{ text: 'What is the weather in Bern?' }] }],
      tools: [
        {
          functionDeclarations: [
            {
              name: 'weather',
              description: 'The weather of a city.',
              parameters: { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] },
            },
          ],
        },
      ],
      generationConfig: { maxOutputTokens: 1024 },
      budget_limit: 5,
    },
  },
} as const;

/** The example answer with vectors. */
export const exampleVectors = (isBatch: boolean): object => {
  const vector = { values: [0.0123, -0.0456, 0.0789] };
  return {
    ...(isBatch ? { embeddings: [vector] } : { embedding: vector }),
    usageMetadata: { promptTokenCount: 6 },
    platform: { ...platform, routed_model: 'text-embedding-3-small', route_reason: 'pinned', cost_saved_credits: 0 },
  };
};
