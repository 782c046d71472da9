import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StreamPart } from '../../src/contract/parts.ts';
import { isPlausible, type Usage } from '../../src/core/money/usage.ts';
import { details, finish, refusal, text, thought, toolCall, used, usedByDefault } from '../support/parts.ts';
import { joinParts, openaiAdapter } from '../support/provider-call.ts';
import { streamed } from '../support/wire-request.ts';

const FOLDER = join(import.meta.dir, 'fixtures');
const adapter = openaiAdapter();

/** Returns the parts of a provider's body, unstreamed or streamed. */
function partsIn(path: string): StreamPart[] {
  const body = readFileSync(join(FOLDER, path), 'utf8');
  return joinParts(path.endsWith('.json') ? adapter.reply(body) : streamed(adapter, body));
}

const call = (id: string, args: string, index = 0, extra?: object) => toolCall(index, id, 'get_weather', args, extra);
type Counts = Parameters<typeof used>;
/** @param cost that the provider states, in USD */
const usedFor = (cost: string, ...counts: Counts): StreamPart => {
  const part = used(...counts);
  return part.type === 'usage' ? { ...part, cost } : part;
};
/** A short answer with reasoning, and a call. */
const reasoned = (...counts: Counts) => [thought('Two and two.'), text('4'), finish('stop'), used(...counts)];
const calledFor = (id: string, args: string, ...counts: Counts) => [
  ...[thought('Oslo, then.'), call(id, args), finish('tool_calls'), used(...counts)],
];
const signed = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 };
const OSLO = '{"city":"Oslo"}';

const TABLE: Readonly<Record<string, readonly StreamPart[]>> = {
  'openai/success.json': [text('Rain, later sun.'), finish('stop'), usedByDefault(2006, 1920, 64, 300, 192)],
  'openai/stream.sse': [text('Rain, later sun.'), finish('stop'), usedByDefault(12, 0, 0, 9, 0)],
  'openai/parallel-calls.sse': [
    call('call_A1', OSLO),
    call('call_B2', '{"city":"Rome"}', 1),
    finish('tool_calls'),
    usedByDefault(80, 0, 0, 44, 0),
  ],
  'openai/named-call.json': [call('call_C3', OSLO), finish('tool_calls', 'stop'), usedByDefault(80, 0, 0, 12, 0)],
  'openai/refusal.json': [refusal('I can’t help with that.'), finish('stop'), usedByDefault(20, 0, 0, 8, 0)],
  'openai/length.json': [finish('length'), usedByDefault(20, 0, 0, 64, 64)],
  'openai/filtered.json': [text('As for'), finish('content_filter'), usedByDefault(20, 0, 0, 2, 0)],
  'openai-compatible/azure-filtered.sse': [text('They'), finish('content_filter'), used(15, 0, 0, 1, 0)],
  'openai-compatible/cerebras-thinking.sse': reasoned(70, 0, 0, 40, 28),
  'openai-compatible/deepseek-broken-off.json': [
    text('Half'),
    used(100, 64, 0, 50, 30),
    {
      type: 'failure',
      failure: {
        kind: 'overloaded',
        message: 'the upstream broke the answer off: insufficient_system_resource',
      },
    },
  ],
  'openai-compatible/deepseek-thinking.sse': reasoned(100, 64, 0, 50, 30),
  'openai-compatible/deepseek-tool-call.json': calledFor('call_00_x', '{"city": "Oslo"}', 100, 64, 0, 50, 30),
  'openai-compatible/fireworks-thinking.json': reasoned(20, 0, 0, 12, 0),
  'openai-compatible/google-compatible-call.json': [
    { type: 'state', choice: 0, extra: { google: { thought_signature: 'bWVzc2FnZQ==' } } },
    call('function-call-1', OSLO, 0, { google: { thought_signature: 'Y2FsbA==' } }),
    finish('tool_calls'),
    used(20, 0, 0, 9, 0),
  ],
  'openai-compatible/groq-stopped.sse': [
    text('Half'),
    { type: 'failure', failure: { kind: 'server', message: 'over capacity', status: undefined } },
  ],
  'openai-compatible/groq-thinking.sse': reasoned(90, 64, 0, 40, 25),
  'openai-compatible/llama-cpp-tool-call.sse': calledFor('pXq7', OSLO, 30, 10, 0, 8, 0),
  'openai-compatible/lm-studio-stream.sse': [text('Rain.'), finish('stop'), used(12, 0, 0, 3, 0)],
  'openai-compatible/mistral-length.json': [text('A long'), finish('length', 'model_length'), used(30, 16, 0, 22, 0)],
  'openai-compatible/mistral-parallel-calls.sse': [
    call('Dx7Kq2mBv', '{"city": "Oslo"}'),
    call('h3Pz9TwLa', '{"city": "Rome"}', 1),
    finish('tool_calls'),
    used(30, 16, 0, 22, 0),
  ],
  'openai-compatible/mistral-thinking.json': reasoned(30, 16, 0, 22, 0),
  'openai-compatible/moonshot-thinking.sse': reasoned(60, 48, 0, 20, 0),
  'openai-compatible/ollama-tool-call.json': calledFor('call_x1y2z3', OSLO, 160, 0, 0, 25, 0),
  'openai-compatible/openrouter-encrypted.json': [
    details({
      type: 'reasoning.encrypted',
      data: 'CiQB0e2Kb==',
      format: 'google-gemini-v1',
      index: 0,
      id: 'tool_0_get_weather',
    }),
    call('tool_0_get_weather', OSLO),
    finish('tool_calls'),
    usedFor('0.0012', 50, 10, 20, 60, 33),
  ],
  'openai-compatible/openrouter-failed.sse': [
    text('Half'),
    { type: 'failure', failure: { kind: 'server', message: 'Provider disconnected unexpectedly', status: 502 } },
  ],
  'openai-compatible/openrouter-thinking.sse': [
    thought('Two and '),
    details({ ...signed, text: 'Two and ' }),
    thought('two.'),
    details({ ...signed, text: 'two.' }),
    details({ ...signed, signature: 'EqQBsig==' }),
    text('4'),
    finish('stop'),
    usedFor('0.0012', 50, 10, 20, 60, 33),
  ],
  'openai-compatible/together-success.json': [text('Rain.'), finish('stop', 'eos'), used(42, 0, 0, 3, 0)],
  'openai-compatible/vllm-thinking.sse': reasoned(20, 0, 0, 14, 0),
  'openai-compatible/xai-tool-call.json': [
    thought('Oslo, then.'),
    call('call_61', OSLO),
    finish('tool_calls', ''),
    usedFor('0.000421', 199, 163, 0, 226, 200),
  ],
  'openai-compatible/zai-sensitive.json': [text('As for'), finish('content_filter', 'sensitive'), used(15, 0, 0, 2, 0)],
};

describe('a recorded body of a provider', () => {
  test.each(Object.keys(TABLE))('is read correctly: %s', (path) => {
    expect(partsIn(path)).toEqual([...(TABLE[path] ?? [])]);
  });

  test('is in the table above, and reports plausible usage', () => {
    const bodies = ['openai', 'openai-compatible'].flatMap((folder) =>
      readdirSync(join(FOLDER, folder))
        .filter((name) => /\.(?:sse|json)$/.test(name) && name !== 'errors.json')
        .map((name) => `${folder}/${name}`),
    );
    expect(bodies.toSorted()).toEqual(Object.keys(TABLE).toSorted());
    const usages = Object.values(TABLE).flatMap((parts) =>
      parts.flatMap((part): Usage[] => (part.type === 'usage' && part.usage ? [part.usage] : [])),
    );
    expect(usages.filter((usage) => !isPlausible(usage))).toEqual([]);
  });
});

interface ErrorCase {
  readonly by: string;
  readonly status: number;
  readonly kind: string;
  readonly body: unknown;
}

describe.each(['openai', 'openai-compatible'])('an error of %s', (folder) => {
  const cases: ErrorCase[] = JSON.parse(readFileSync(join(FOLDER, folder, 'errors.json'), 'utf8'));

  test.each(cases.map((one) => [one.by, one] as const))('has the right kind and an explanation: %s', (_, one) => {
    const failure = adapter.failure(one.status, new Headers(), JSON.stringify(one.body));
    expect<string>(failure.kind).toBe(one.kind);
    expect(failure.status).toBe(one.status);
    expect(failure.message).toMatch(/\w{3}/);
    expect(failure.message).not.toContain('{');
    expect(failure.message).not.toStartWith('status');
  });
});

test('Signalbox reports a provider’s error with its location', () => {
  const body = { detail: [{ loc: ['body', 'messages', 0, 'name'], msg: 'Extra inputs are not permitted' }] };
  expect(adapter.failure(422, new Headers(), JSON.stringify(body)).message).toBe(
    'body.messages.0.name: Extra inputs are not permitted',
  );
});
