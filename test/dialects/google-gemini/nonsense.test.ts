import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { wrappedSignature } from '../../../src/dialects/google-gemini/signature.ts';
import { tries } from '../../deep/effort.ts';
import { defectsIn } from '../../support/nonsense.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { useSignalbox, useUpstream } from '../../support/use.ts';

const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy({ first: upstream.url }, { best: { endpoints: ['first'] } }),
  env: UPSTREAM_ENV,
}));

const text = { text: 'Hi', thought: false };
const BODY = {
  budget_limit: 10,
  constraints: { max_cost_credits: 1, required_languages: ['js'] },
  route_strategy: { cost_weight: 1, quality_weight: 1 },
  metadata: { user_id: 'u', session_id: 's' },
  systemInstruction: { parts: [text] },
  contents: [
    { role: 'user', parts: [text, { inlineData: { mimeType: 'image/png', data: 'aGk=' } }] },
    {
      role: 'model',
      parts: [
        { text: 'Hm.', thought: true, thoughtSignature: 'c2ln' },
        {
          functionCall: { id: 'c1', name: 'f', args: { a: 1 } },
          thoughtSignature: wrappedSignature({ details: [{}] }),
        },
      ],
    },
    {
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: 'c1',
            name: 'f',
            response: { output: 'x' },
            parts: [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }],
          },
        },
        { file_data: { file_uri: 'https://example.com/x.png', mime_type: 'image/png' } },
      ],
    },
  ],
  tools: [
    {
      functionDeclarations: [
        {
          name: 'f',
          description: 'd',
          parameters: { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } },
        },
        { name: 'g', parametersJsonSchema: { type: 'object' } },
      ],
    },
  ],
  toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
  safetySettings: [{ category: 'X', threshold: 'Y' }],
  cachedContent: '',
  generationConfig: {
    maxOutputTokens: 50,
    temperature: 1,
    topP: 0.5,
    topK: 3,
    candidateCount: 1,
    stopSequences: ['x'],
    seed: 1,
    presencePenalty: 0,
    responseLogprobs: true,
    logprobs: 2,
    responseMimeType: 'application/json',
    responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
    responseModalities: ['TEXT'],
    thinkingConfig: { includeThoughts: true, thinkingBudget: 5, thinkingLevel: 'LOW' },
  },
};
const EMBED = { content: { parts: [{ text: 'a' }] }, taskType: 'X', title: 't', outputDimensionality: 3 };
const BATCH = { requests: [{ model: 'models/best', ...EMBED }, EMBED] };

const post = (method: string, body: unknown) => box.post(`/v1beta/models/best:${method}`, body);

test.each([
  ['generateContent', BODY],
  ['streamGenerateContent', BODY],
  ['countTokens', { generateContentRequest: BODY }],
  ['embedContent', EMBED],
  ['batchEmbedContents', BATCH],
] as const)('%s: a nonsensical value anywhere in a body never causes an internal error', async (method, body) => {
  expect(await defectsIn(body, async (changed) => (await post(method, changed)).status)).toEqual([]);
});

test('any JSON, any model in the path and any query never cause an internal error', async () => {
  const query = fc.oneof(
    fc.constantFrom('', '?alt=sse', '?key=', '?key=%zz'),
    fc.webQueryParameters().map((text) => `?${text}`),
  );
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.string({ minLength: 1, maxLength: 20 }), query, async (body, model, tail) => {
      for (const method of ['generateContent', 'streamGenerateContent', 'embedContent']) {
        const path = `/v1beta/models/${encodeURIComponent(model)}:${method}${tail}`;
        expect((await box.post(path, body)).status).toBeLessThan(500);
      }
    }),
    tries('any JSON in Gemini’s API', 30, 5_000),
  );
});

test('the name of a model has at most 256 characters', async () => {
  const [longest, longer] = [256, 257].map((length) =>
    box.post(`/v1beta/models/${'m'.repeat(length)}:generateContent`, { contents: [{ parts: [text] }] }),
  );
  expect([(await longest!).status, (await longer!).status]).toEqual([404, 400]);
});
