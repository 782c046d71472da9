import { expect, test } from 'bun:test';
import type { Asked } from '../support/dialects/dialect.ts';
import { DIALECTS, type DialectName } from '../support/dialects/index.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';

const PNG = 'iVBORw0KGgo=';
const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } };
const SCHEMA = { type: 'object', properties: { warm: { type: 'boolean' } }, additionalProperties: false };
const CITY = { city: 'Bern' };

/** The same request in every dialect. */
const QUESTIONS: Readonly<Record<DialectName, { readonly path: string; readonly body: object }>> = {
  openai: {
    path: '/chat/completions',
    body: {
      model: 'm',
      max_completion_tokens: 500,
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Is it warm here?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
          ],
        },
        {
          role: 'assistant',
          content: 'I shall look.',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
        { role: 'user', content: 'Well?' },
      ],
      tools: [{ type: 'function', function: { name: 'weather', parameters: PARAMETERS } }],
      tool_choice: 'required',
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: SCHEMA } },
    },
  },
  anthropic: {
    path: '/messages',
    body: {
      model: 'm',
      max_tokens: 500,
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Is it warm here?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I shall look.' },
            { type: 'tool_use', id: 'c1', name: 'weather', input: CITY },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'sunny' }] },
        { role: 'user', content: 'Well?' },
      ],
      tools: [{ name: 'weather', input_schema: PARAMETERS }],
      tool_choice: { type: 'any' },
      output_config: { format: { type: 'json_schema', schema: SCHEMA } },
    },
  },
  gemini: {
    path: '/models/m:generateContent',
    body: {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Is it warm here?' }, { inlineData: { mimeType: 'image/png', data: PNG } }] },
        {
          role: 'model',
          parts: [{ text: 'I shall look.' }, { functionCall: { name: 'weather', args: CITY } }],
        },
        { role: 'user', parts: [{ functionResponse: { name: 'weather', response: { output: 'sunny' } } }] },
        { role: 'user', parts: [{ text: 'Well?' }] },
      ],
      tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: PARAMETERS }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
      generationConfig: { maxOutputTokens: 500 },
    },
  },
};

const ASKED: Asked = {
  model: 'm',
  stream: false,
  system: 'Be brief.',
  turns: [
    { role: 'user', text: 'Is it warm here?', media: [`data:image/png;base64,${PNG}`], calls: [], results: [] },
    { role: 'assistant', text: 'I shall look.', media: [], calls: [{ name: 'weather', input: CITY }], results: [] },
    { role: 'user', text: 'Well?', media: [], calls: [], results: [{ name: 'weather', text: 'sunny' }] },
  ],
  tools: ['weather'],
  toolChoice: 'required',
  maxTokens: 500,
  schema: SCHEMA,
};

const KEYS = { authorization: 'Bearer k', 'x-goog-api-key': 'k', 'anthropic-version': '2023-06-01' };

for (const dialect of Object.keys(DIALECTS) as DialectName[]) {
  test(`a request in ${dialect}'s form is read as in every other dialect`, async () => {
    const upstream = startFakeUpstream({ dialect, key: 'k' });
    try {
      const { path, body } = QUESTIONS[dialect];
      const answer = await fetch(upstream.url + path, { method: 'POST', headers: KEYS, body: JSON.stringify(body) });
      expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
      // Models before Gemini 3 accept no schema with tools.
      const schema = dialect === 'gemini' ? null : SCHEMA;
      expect(upstream.requests[0]?.asked).toEqual({ ...ASKED, schema });
    } finally {
      await upstream.stop();
    }
  });
}
