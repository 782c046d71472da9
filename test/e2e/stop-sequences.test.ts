import { afterAll, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { type Behaviour, startFakeUpstream } from '../support/fake-upstream.ts';
import { inTime } from '../support/in-time.ts';
import { testPolicy, UPSTREAM_KEY } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** A plugin that answers in the gateway's process and reports its usage long after its end. */
const LATE = `import { defineProvider, plainUsage, Type } from 'signalbox/plugin';
export const late = defineProvider({
  name: 'late',
  contract: 2,
  status: 'alpha',
  settings: Type.Object({}),
  prepare: () => ({
    kind: 'in-process',
    lacks: () => ['stop'],
    *answer() {
      yield { type: 'text', choice: 0, text: 'one END two' };
      yield { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };
      yield { type: 'pause', ms: 20_000 };
      yield { type: 'usage', usage: plainUsage(10, 50) };
    },
  }),
});
`;

/** The provider `up` accepts stop sequences, but its models `plain` and `growing` do not. `claude` is a model of Anthropic. */
const upstream = useUpstream();
const claude = startFakeUpstream({ dialect: 'anthropic', key: UPSTREAM_KEY });
afterAll(() => claude.stop());
const box = useSignalbox(() => {
  const policy = testPolicy(
    { up: upstream.url, grow: upstream.url, claude: { url: claude.url, adapter: 'anthropic' } },
    {
      plain: { endpoints: ['up'], capabilities: ['tools', 'json_schema', 'choices'], more: '    lacks: [stop]\n' },
      growing: { endpoints: ['grow'], quality: 0.1, more: '    lacks: [stop]\n' },
      taking: { endpoints: ['up'], quality: 0.6, capabilities: ['tools', 'json_schema', 'choices'] },
      'claude-sim': { endpoints: ['claude'], quality: 0.5 },
      late: { endpoints: ['late'], quality: 0.1 },
    },
  )
    .replace('providers:\n', 'plugins: [./late.ts]\nproviders:\n  late: { adapter: late }\n')
    .replace(/( {2}grow: \{)/, '$1 after_abort: { bills: stops, reports: each },');
  return { policy: { 'policy.yaml': policy, 'late.ts': LATE } };
});

const messages = [{ role: 'user' as const, content: 'Count to nine.' }];
const chat = { messages, max_tokens: 1_000 };
const TEXT = ['one ', 'two E', 'ND', ' three ', 'four'];
const openai = () => new OpenAI({ apiKey: box.key, baseURL: `${box.url}/v1`, maxRetries: 0 });
const anthropic = () => new Anthropic({ apiKey: box.key, baseURL: box.url, maxRetries: 0 });

describe('a stop sequence for a model that accepts none', () => {
  test('a stop sequence in JSON cuts the text, and the whole answer is charged as reported', async () => {
    upstream.next({ text: TEXT.join(''), usage: { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 } });
    const answer = await answerOf(await box.post('/v1/chat/completions', { ...chat, model: 'plain', stop: ['END'] }));
    expect(answer.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'one two ' } });
    expect(answer.usage.completion_tokens).toBe(50);
    expect(answer.platform).toMatchObject({ estimated: false, credits_consumed: 0.21, dropped: [] });
    expect(upstream.requests.at(-1)!.text).not.toContain('"stop"');
  });

  test('a stop sequence ends a stream at once: the call is aborted, and what the provider may bill is charged', async () => {
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

  test('Messages report the stop sequence that ended the message', async () => {
    upstream.next({ text: TEXT }, { text: TEXT.join('') });
    const body = { model: 'plain', max_tokens: 1_000, messages, stop_sequences: ['END', 'nine'] };
    const message = await anthropic().messages.stream(body).finalMessage();
    const whole = await anthropic().messages.create(body);
    for (const { content, stop_reason, stop_sequence } of [message, whole]) {
      expect(content.map((block) => (block.type === 'text' ? block.text : block.type))).toEqual(['one two ']);
      expect({ stop_reason, stop_sequence }).toEqual({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
    }
  });

  test('a stop sequence excludes no model: recommendations and selectors choose as without it', async () => {
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

describe('a cut stream whose provider stays silent', () => {
  /** An event of OpenAI's stream: a piece of a choice, or its end. */
  const event = (index: number, content: string | null): string => {
    const choice = {
      index,
      delta: content === null ? {} : { content },
      finish_reason: content === null ? 'stop' : null,
    };
    return `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] })}\n\n`;
  };
  const usage = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 50 } })}\n\n`;
  const whole = event(0, 'one END two') + event(0, null);

  /** Returns the answers to streams with several choices. The provider writes these events and then neither continues nor ends. */
  async function answersTo(model: string, n: number, raw: readonly string[], more: Behaviour = {}) {
    upstream.next({ form: 'sse', keepOpen: true, raw, ...more });
    const { chunks, done } = await eventsOf(
      await box.post('/v1/chat/completions', { ...chat, model, n, stop: 'END', stream: true }),
    );
    const { platform } = chunks.at(-1)!;
    const choices = chunks.flatMap(({ choices }) => choices);
    const texts = Array.from({ length: n }, (_, at) =>
      choices.map(({ index, delta }) => (index === at ? (delta.content ?? '') : '')).join(''),
    );
    const ends = choices.flatMap(({ finish_reason: end }) => end ?? []);
    const { estimated, credits_consumed: credits } = platform;
    return { done, texts, ends, estimated, credits };
  }
  const one = { done: true, texts: ['one '], ends: ['stop'] };

  test('a cut stream has its usage if the usage arrives within a second after its end', async () => {
    const raw = [whole, usage];
    expect(await answersTo('plain', 1, raw, { betweenChunksMs: 20 })).toEqual({
      ...one,
      estimated: false,
      credits: 0.21,
    });
  });

  // The wait may take up to a second.
  test.each<[string, string, number, readonly string[], Behaviour]>([
    ['has ended it', 'plain', 1, [whole], {}],
    [
      'has ended it, and keeps the connection alive',
      'growing',
      1,
      [whole, ...Array(200).fill(': wait\n\n')],
      { betweenChunksMs: 100 },
    ],
    ['has ended all choices, one of them without a stop', 'plain', 2, [whole, event(1, 'three'), event(1, null)], {}],
  ])(
    'a cut stream waits at most a second for the usage if its provider %s, and is charged as a complete answer',
    async (_, model, n, raw, more) => {
      const before = upstream.aborted;
      const cut = await inTime(4_000, () => answersTo(model, n, raw, more));
      await waitFor(() => upstream.aborted > before);
      expect(cut).toMatchObject({ done: true, texts: ['one ', 'three'].slice(0, n), estimated: true });
      expect(cut.ends).toEqual(Array(n).fill('stop'));
      // Everything that the provider wrote is counted.
      const uncut = await answersTo('taking', n, raw.slice(0, 3), { keepOpen: false });
      expect(uncut).toMatchObject({ texts: ['one END two', 'three'].slice(0, n), credits: cut.credits });
    },
  );

  test.each<[string, readonly string[]]>([
    ['all choices were cut', [event(0, 'one END two'), event(1, 'threeEND')]],
    [
      'the provider has ended the last choice, and would continue the other',
      [event(0, 'one END'), event(1, 'three'), event(1, null)],
    ],
    [
      'the provider has ended the first choice, and would continue the other',
      [event(1, 'three'), event(1, null), event(0, 'one END')],
    ],
  ])('a cut stream does not wait if %s: no usage is expected, and the call is aborted', async (_, raw) => {
    const before = upstream.aborted;
    const cut = await inTime(1_000, () => answersTo('plain', 2, raw));
    expect(cut).toMatchObject({ done: true, texts: ['one ', 'three'], ends: ['stop', 'stop'], estimated: true });
    await waitFor(() => upstream.aborted > before);
  });

  test('a cut stream of a plugin in the gateway’s process waits no longer than a second either', async () => {
    const response = () => box.post('/v1/chat/completions', { ...chat, model: 'late', stop: 'END', stream: true });
    const { chunks, done } = await inTime(4_000, async () => eventsOf(await response()));
    expect([done, chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')]).toEqual([true, 'one ']);
    expect(chunks.at(-1)?.platform.estimated).toBe(true);
  });
});

test('Signalbox sends a stop sequence to a model that accepts it, and does not change the model’s answer', async () => {
  upstream.next({ text: 'one two END' });
  const answer = await answerOf(await box.post('/v1/chat/completions', { ...chat, model: 'taking', stop: 'END' }));
  expect(upstream.requests.at(-1)!.body).toMatchObject({ stop: ['END'] });
  expect(answer.choices[0]?.message.content).toBe('one two END');
});

test('Signalbox applies a blank stop sequence itself, because Anthropic refuses it; it sends other stop sequences and reports the one found', async () => {
  claude.next({ text: 'one\ntwo' });
  const blank = await answerOf(await box.post('/v1/chat/completions', { ...chat, model: 'claude-sim', stop: ['\n'] }));
  expect(blank.choices[0]?.message.content).toBe('one');
  expect(claude.requests.at(-1)!.text).not.toContain('stop_sequences');
  await box.post('/v1/chat/completions', { ...chat, model: 'claude-sim', stop: ['END'] });
  expect(claude.requests.at(-1)!.text).toContain('"stop_sequences":["END"]');
});

test('stop sequences beyond the limits are refused with the name of their field', async () => {
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

test('a cut answer does not count as a failure of its endpoint', async () => {
  for (let at = 0; at < 8; at++) {
    upstream.next({ text: [...TEXT, ...Array.from({ length: 50 }, () => ' more')], betweenChunksMs: 5 });
    const response = await box.post('/v1/chat/completions', { ...chat, model: 'plain', stop: 'END', stream: true });
    expect(await response.text()).toContain('[DONE]');
  }
  const metrics = await (await box.get('/metrics')).text();
  expect(metrics).not.toMatch(/signalbox_endpoint_state\{[^}]*state="(?:shut|cooling)"[^}]*\} 1/);
});
