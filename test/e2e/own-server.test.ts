import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf, eventsOf } from '../support/answers.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startSignalbox } from '../support/signalbox.ts';

/** The policy from docs/start.md for your own model server, with the address of the given server. */
function snippet(url: string): string {
  const page = readFileSync(join(import.meta.dir, '../../docs/start.md'), 'utf8');
  const [, text = ''] = /### A server of your own[\s\S]*?```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  return `version: 1\n${text.replace(/base_url: http:\S+/, `base_url: ${url}`)}`;
}

const tool = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } };
const schema = { name: 'city', schema: { type: 'object', properties: { city: { type: 'string' } } } };
const question = { role: 'user', content: 'The weather in Oslo?' };
const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } };

test('your own model server, set up as the start page says, gets tools and schemas, and only fields that strict servers accept', async () => {
  const upstream = startFakeUpstream();
  const box = await startSignalbox({ policy: snippet(upstream.url) });
  try {
    const chat = (body: object) => box.post('/v1/chat/completions', { model: 'my-model', ...body });
    expect((await chat({ messages: [question], tools: [tool] })).status).toBe(200);
    const format = { type: 'json_schema', json_schema: schema };
    expect((await chat({ messages: [question], response_format: format })).status).toBe(200);
    const messages = [
      { role: 'developer', content: 'Be brief.' },
      question,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'Snow.' },
    ];
    expect((await chat({ messages, tools: [tool] })).status).toBe(200);
    const [, , answered, result] = messages;
    expect(upstream.requests.at(-1)!.body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      question,
      { ...answered, content: '' },
      result,
    ]);
  } finally {
    await box.stop();
    await upstream.stop();
  }
});

test('if a server sends a tool call in both forms, the caller gets one call, in JSON and in a stream', async () => {
  const message = { role: 'assistant', content: null, tool_calls: [call], function_call: call.function };
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const head = { id: 'chatcmpl-1', created: 1, model: 'm' };
  const json = {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
    usage,
  };
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const pieces = ['', '{"', 'city', '":"Oslo"}'].map((text) => {
    const fn = { name: 'weather', arguments: text };
    return chunk({ role: null, content: null, function_call: fn, tool_calls: [{ index: 0, ...call, function: fn }] });
  });
  const upstream = startFakeUpstream();
  const box = await startSignalbox({ policy: snippet(upstream.url) });
  try {
    const body = { model: 'my-model', messages: [question], tools: [tool] };
    upstream.next({ raw: [JSON.stringify(json)] });
    const answer = await answerOf(await box.post('/v1/chat/completions', body));
    expect(answer.choices[0]!.message.tool_calls).toMatchObject([call]);
    upstream.next({ form: 'sse', raw: [...pieces, chunk({}, 'tool_calls'), 'data: [DONE]\n\n'] });
    const { chunks } = await eventsOf(await box.post('/v1/chat/completions', { ...body, stream: true }));
    const calls = chunks.flatMap(({ choices }) => choices?.[0]?.delta.tool_calls ?? []);
    expect(new Set(calls.map(({ index }) => index))).toEqual(new Set([0]));
    expect(calls.map(({ function: fn }) => fn?.arguments ?? '').join('')).toBe('{"city":"Oslo"}');
  } finally {
    await box.stop();
    await upstream.stop();
  }
});
