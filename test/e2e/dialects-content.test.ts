import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { MODELS, type ModelName, startWorld, type World } from './dialects-support.ts';

/** Content that each dialect can express, and content that it cannot, which is refused before anything is sent. */
let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.stop());

const upstreamOf = (name: ModelName) => world.upstreams[MODELS[name].dialect];
const QUESTION = { role: 'user', content: 'Hello' };
const chat = (body: object) => world.box.post('/v1/chat/completions', { messages: [QUESTION], ...body });

const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const PDF = 'data:application/pdf;base64,JVBERi0=';
const image = (url: string) => ({ type: 'image_url', image_url: { url } });
const file = (members: object) => ({ type: 'file', file: members });
const sound = (format: string) => ({ type: 'input_audio', input_audio: { data: 'UklGRg==', format } });

describe('media reach the model as they are:', () => {
  test.each<[ModelName, string, object, string]>([
    ['claude', 'an image', image(PNG), PNG],
    ['gpt', 'an image', image(PNG), PNG],
    ['gemini', 'an image', image(PNG), PNG],
    ['claude', 'an image’s address', image('https://example.com/a.jpg'), 'https://example.com/a.jpg'],
    ['gpt', 'an image’s address', image('https://example.com/a.jpg'), 'https://example.com/a.jpg'],
    ['gemini', 'an image’s address', image('https://example.com/a.jpg'), 'https://example.com/a.jpg'],
    ['claude', 'a PDF', file({ filename: 'a.pdf', file_data: PDF }), PDF],
    ['gpt', 'a PDF', file({ filename: 'a.pdf', file_data: PDF }), PDF],
    ['gemini', 'a PDF', file({ filename: 'a.pdf', file_data: PDF }), PDF],
    ['gpt', 'sound', sound('wav'), 'data:audio/wav;base64,UklGRg=='],
    ['gemini', 'sound', sound('mp3'), 'data:audio/mp3;base64,UklGRg=='],
  ])('the model %s gets %s unchanged', async (model, _, part, address) => {
    const content = [{ type: 'text', text: 'What is this?' }, part];
    const response = await chat({ model, messages: [{ role: 'user', content }] });
    expect(await answerOf(response)).toMatchObject({ model });
    expect(upstreamOf(model).requests.at(-1)?.asked.turns).toEqual([
      { role: 'user', text: 'What is this?', media: [address], calls: [], results: [] },
    ]);
  });
});

test('a model of Anthropic is told to answer with JSON only, because its API has no mode for it', async () => {
  const response = await chat({ model: 'claude', messages: [QUESTION], response_format: { type: 'json_object' } });
  expect(response.status).toBe(200);
  expect(JSON.stringify(upstreamOf('claude').requests.at(-1)?.body)).toContain('valid JSON object and nothing else');
});

const TOOLS = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }];
const said = (part: object) => ({ messages: [{ role: 'user', content: [part] }] });
const beginning = { messages: [QUESTION, { role: 'assistant', content: 'The answer is ' }] };

describe('content that a dialect cannot express is refused by its capability, and nothing is sent:', () => {
  test.each<[ModelName, string, object, string | null]>([
    ['claude', 'logprobs', { logprobs: true }, 'logprobs'],
    ['claude', 'seed', { seed: 0 }, 'seed'],
    ['claude', 'penalties', { frequency_penalty: 0.5 }, 'frequency_penalty'],
    ['claude', 'logit_bias', { logit_bias: { 5: 1 } }, 'logit_bias'],
    ['claude', 'audio_input', said(sound('wav')), null],
    ['claude', 'file_ids', said(file({ file_id: 'file-1' })), null],
    ['claude', 'continuation', beginning, null],
    ['gemini', 'penalties', { presence_penalty: 1 }, 'presence_penalty'],
    ['gemini', 'logit_bias', { logit_bias: { 5: 1 } }, 'logit_bias'],
    ['gemini', 'single_tool_calls', { tools: TOOLS, parallel_tool_calls: false }, 'parallel_tool_calls'],
    ['gemini', 'file_ids', said(file({ file_id: 'file-1' })), null],
  ])('the model %s lacks %s', async (model, capability, body, field) => {
    const before = upstreamOf(model).requests.length;
    for (const stream of [false, true]) {
      const { message } = await expectError(await chat({ model, ...body, stream }), 'no_eligible_model', field);
      expect(message).toContain(`it lacks ${capability}.`);
    }
    expect(upstreamOf(model).requests).toHaveLength(before);
  });

  test.each<ModelName>(['claude', 'gemini'])('%s gives only a single choice', async (model) => {
    const before = upstreamOf(model).requests.length;
    await expectError(await chat({ model, n: 2 }), 'no_eligible_model', 'n');
    expect(upstreamOf(model).requests).toHaveLength(before);
  });
});
