import { afterAll, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { answerOf, waitFor } from '../support/answers.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_KEY } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** `up` takes stops, but its model `plain` has none of them; `claude` is Anthropic's. */
const upstream = useUpstream();
const claude = startFakeUpstream({ dialect: 'anthropic', key: UPSTREAM_KEY });
afterAll(() => claude.stop());
const box = useSignalbox(() => ({
  policy: testPolicy(
    { up: upstream.url, claude: { url: claude.url, adapter: 'anthropic' } },
    {
      plain: { endpoints: ['up'], more: '    lacks: [stop]\n' },
      taking: { endpoints: ['up'], quality: 0.6 },
      'claude-sim': { endpoints: ['claude'], quality: 0.5 },
    },
  ),
}));

const messages = [{ role: 'user' as const, content: 'Count to nine.' }];
const chat = { messages, max_tokens: 1_000 };
const TEXT = ['one ', 'two E', 'ND', ' three ', 'four'];
const openai = () => new OpenAI({ apiKey: box.key, baseURL: `${box.url}/v1`, maxRetries: 0 });
const anthropic = () => new Anthropic({ apiKey: box.key, baseURL: box.url, maxRetries: 0 });

describe('a stop of a model that takes none', () => {
  test('in JSON cuts the text, and the whole answer is charged as reported', async () => {
    upstream.next({ text: TEXT.join(''), usage: { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 } });
    const answer = await answerOf(await box.post('/v1/chat/completions', { ...chat, model: 'plain', stop: ['END'] }));
    expect(answer.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'one two ' } });
    expect(answer.usage.completion_tokens).toBe(50);
    expect(answer.platform).toMatchObject({ estimated: false, credits_consumed: 0.21, dropped: [] });
    expect(upstream.requests.at(-1)!.text).not.toContain('"stop"');
  });

  test('in a stream ends it at once: the service is left, and what it may bill is charged', async () => {
    const before = upstream.aborted;
    upstream.next({ text: [...TEXT, ...Array.from({ length: 200 }, () => ' more')], betweenChunksMs: 20 });
    const stream = await openai().chat.completions.create({ ...chat, model: 'plain', stop: 'END', stream: true });
    let text = '';
    const ends: (string | null)[] = [];
    let platform: { estimated?: boolean; credits_consumed?: number | null; attempts?: { failure: string | null }[] } =
      {};
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      if (chunk.choices[0]?.finish_reason) ends.push(chunk.choices[0].finish_reason);
      if ('platform' in chunk) platform = Object(chunk.platform);
    }
    expect({ text, ends }).toEqual({ text: 'one two ', ends: ['stop'] });
    expect(platform.estimated).toBe(true);
    expect(platform.attempts?.map(({ failure }) => failure)).toEqual([null]);
    await waitFor(() => Promise.resolve(upstream.aborted === before + 1));
    expect(platform.credits_consumed).toBeGreaterThan(0);
  });

  test('of Messages is named as what ended the message', async () => {
    upstream.next({ text: TEXT }, { text: TEXT.join('') });
    const body = { model: 'plain', max_tokens: 1_000, messages, stop_sequences: ['END', 'nine'] };
    const message = await anthropic().messages.stream(body).finalMessage();
    const whole = await anthropic().messages.create(body);
    for (const { content, stop_reason, stop_sequence } of [message, whole]) {
      expect(content.map((block) => (block.type === 'text' ? block.text : block.type))).toEqual(['one two ']);
      expect({ stop_reason, stop_sequence }).toEqual({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
    }
  });

  test('leaves no model out: advice, and a selector, choose as without it', async () => {
    const advice = (await (await box.post('/v1/route', { ...chat, model: 'auto', stop: 'END' })).json()) as {
      recommended_model: string;
    };
    expect(advice.recommended_model).toBe('plain');
    upstream.next({ text: TEXT.join('') });
    const answer = await answerOf(await box.post('/v1/chat/completions', { ...chat, model: 'auto', stop: 'END' }));
    expect(answer.platform.routed_model).toBe('plain');
    expect(answer.choices[0]?.message.content).toBe('one two ');
  });
});

test('a stop of a model that takes it is sent to it, and its answer is not touched', async () => {
  upstream.next({ text: 'one two END' });
  const answer = await answerOf(await box.post('/v1/chat/completions', { ...chat, model: 'taking', stop: 'END' }));
  expect(upstream.requests.at(-1)!.body).toMatchObject({ stop: ['END'] });
  expect(answer.choices[0]?.message.content).toBe('one two END');
});

test('a stop that is blank, which Anthropic refuses, is cut here; another is sent, and the one that was found is named', async () => {
  claude.next({ text: 'one\ntwo' });
  const blank = await answerOf(await box.post('/v1/chat/completions', { ...chat, model: 'claude-sim', stop: ['\n'] }));
  expect(blank.choices[0]?.message.content).toBe('one');
  expect(claude.requests.at(-1)!.text).not.toContain('stop_sequences');
  await box.post('/v1/chat/completions', { ...chat, model: 'claude-sim', stop: ['END'] });
  expect(claude.requests.at(-1)!.text).toContain('"stop_sequences":["END"]');
});

test('stops beyond the bounds are refused by their field', async () => {
  const refused = async (path: string, body: object) => {
    const response = await box.post(path, { ...chat, model: 'plain', ...body });
    return { status: response.status, text: await response.text() };
  };
  const long = await refused('/v1/chat/completions', { stop: 'x'.repeat(257) });
  expect(long.status).toBe(400);
  expect(long.text).toContain('stop');
  const many = await refused('/v1/messages', { stop_sequences: Array.from({ length: 17 }, (_, at) => `s${at}`) });
  expect(many.status).toBe(400);
  expect(many.text).toContain('stop_sequences');
});

test('a cut answer is no failure of its endpoint, which stays well', async () => {
  for (let at = 0; at < 8; at++) {
    upstream.next({ text: [...TEXT, ...Array.from({ length: 50 }, () => ' more')], betweenChunksMs: 5 });
    const response = await box.post('/v1/chat/completions', { ...chat, model: 'plain', stop: 'END', stream: true });
    expect(await response.text()).toContain('[DONE]');
  }
  const metrics = await (await box.get('/metrics')).text();
  expect(metrics).not.toMatch(/signalbox_endpoint_state\{[^}]*state="(?:shut|cooling)"[^}]*\} 1/);
});
