import { heapStats } from 'bun:jsc';
import { describe, expect, test } from 'bun:test';
import { closedBooks } from '../gateway/money/books.ts';
import { eventsOf, waitFor } from '../support/answers.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/**
 * The charge for answers that are cut at a stop sequence, for the caller and the operator. `plain`, `thinker` and `whole` accept no stop
 * sequences. The provider of `whole` bills an aborted answer as if it were complete.
 */
const upstream = useUpstream();
const LACKS = '    lacks: [stop]\n';
const box = useSignalbox(() => {
  const capabilities = ['tools', 'json_schema', 'choices'];
  const policy = testPolicy(
    { up: upstream.url, hungry: upstream.url },
    {
      plain: { endpoints: ['up'], capabilities, more: LACKS },
      thinker: {
        endpoints: ['up'],
        capabilities: ['tools', 'json_schema', 'reasoning'],
        more: `${LACKS}    reasoning_tokens: 50\n`,
      },
      whole: { endpoints: ['hungry'], capabilities, more: LACKS },
    },
  );
  return { policy: policy.replace(/( {2}hungry: \{)/, '$1 after_abort: { bills: whole },') };
});

const asked = { messages: [{ role: 'user', content: 'Count to nine.' }], max_tokens: 1_000, stop: ['END'] };
const chat = (body: object, init: RequestInit = {}) => box.post('/v1/chat/completions', { ...asked, ...body }, init);
const MORE = Array.from({ length: 100 }, () => ' more');

/** Returns a stream as its caller receives it. */
async function streamed(body: object) {
  const { chunks, done } = await eventsOf(await chat({ ...body, stream: true }));
  const choices = chunks.flatMap((chunk) => chunk.choices);
  return {
    text: choices.map(({ delta }) => delta.content ?? '').join(''),
    ends: choices.flatMap(({ finish_reason: end }) => end ?? []),
    platform: chunks.at(-1)!.platform,
    done,
  };
}

/** Returns the tokens of output that a decision was charged for. */
async function outputOf(decision: string): Promise<number> {
  const { outcome } = await waitFor(async () => {
    const record: unknown = await (await box.get(`/v1/decisions/${decision}`)).json();
    return Object(record).outcome ? Object(record) : null;
  });
  expect(outcome.estimated).toBe(true);
  return outcome.usage.completion_tokens;
}

describe('hidden reasoning before a stop sequence', () => {
  test.each([
    { ms: 300, perMs: 0.1 },
    { ms: 300, perMs: 0.2 },
    { ms: 900, perMs: 0.1 },
  ])(
    'hidden reasoning of $ms ms is charged as its provider bills it, at $perMs tokens a ms, or more',
    async ({ ms, perMs }) => {
      const text = ['the whole answer. ', 'END', ...MORE];
      upstream.next({ firstChunkAfterMs: ms, text, betweenChunksMs: 10 });
      const answer = await streamed({ model: 'thinker' });
      expect(answer.text).toBe('the whole answer. ');
      expect(await outputOf(answer.platform.decision_id)).toBeGreaterThanOrEqual(ms * perMs);
      // The silence of a model without reasoning does not count as reasoning.
      upstream.next({ firstChunkAfterMs: ms, text, betweenChunksMs: 10 });
      const { platform } = await streamed({ model: 'plain' });
      expect(await outputOf(platform.decision_id)).toBeLessThan(ms * 0.1);
    },
  );

  test('hidden reasoning is charged up to the output limit', async () => {
    upstream.next({ firstChunkAfterMs: 500, text: ['so ', 'END', ...MORE], betweenChunksMs: 10 });
    const { platform } = await streamed({ model: 'thinker', max_tokens: 40 });
    expect(await outputOf(platform.decision_id)).toBe(40);
  });

  test.each([
    ['after the answer', { firstChunkAfterMs: 400, text: ['so', ...MORE], betweenChunksMs: 10 }],
    ['before it', { firstChunkAfterMs: 20_000, text: 'so' }],
  ])('hidden reasoning is charged to a caller who disconnects %s', async (_, behaviour) => {
    upstream.next(behaviour);
    const settled = async () => (await closedBooks(box.data)).entries.filter(({ kind }) => kind === 'settle');
    const { length } = await settled();
    const left = new AbortController();
    void chat({ model: 'thinker', stop: undefined, stream: true }, { signal: left.signal }).catch(() => {});
    await Bun.sleep(500);
    left.abort();
    const entry = await waitFor(async () => (await settled())[length]);
    expect(entry.output_tokens).toBeGreaterThanOrEqual(40);
  });
});

describe('a cut stream of a provider that bills aborted answers in full', () => {
  const usage = { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 };

  test('a cut stream of a provider that bills aborted answers in full is read to its end, and charged as reported', async () => {
    const before = upstream.aborted;
    upstream.next({ text: ['one ', 'END', ...MORE.slice(0, 20)], betweenChunksMs: 5, usage });
    const answer = await streamed({ model: 'whole' });
    expect(answer).toMatchObject({ text: 'one ', ends: ['stop'], done: true });
    expect(answer.platform).toMatchObject({ estimated: false, credits_consumed: 0.21 });
    expect(upstream.aborted).toBe(before);
  });

  test('a cut stream is complete for its caller, even if the provider breaks off after the stop sequence', async () => {
    upstream.next({ text: ['one ', 'END', ...MORE], betweenChunksMs: 5, cutAfter: 10 });
    const answer = await streamed({ model: 'whole' });
    expect(answer).toMatchObject({ text: 'one ', ends: ['stop'], done: true });
    expect(answer.platform).toMatchObject({ estimated: true, attempts: [{ failure: 'cut' }] });
  });
});

test('many choices with long stop sequences take little memory, because all choices of a request share one search', async () => {
  const chunk = (index: number) =>
    `data: ${JSON.stringify({ id: 'x', choices: [{ index, delta: { content: 'x' }, finish_reason: null }] })}\n\n`;
  const raw = [Array.from({ length: 128 }, (_, at) => chunk(at)).join('')];
  upstream.behave({ form: 'sse', raw, keepOpen: true });
  const stop = ['', ...['a', 'b', 'c'].map((letter) => letter.repeat(256))];
  const memory = () => {
    Bun.gc(true);
    const { heapSize, extraMemorySize } = heapStats();
    return heapSize + extraMemorySize;
  };
  const hold = async (streams: number) => {
    const left = new AbortController();
    const responses = Array.from({ length: streams }, async () => {
      const body = { model: 'plain', n: 128, max_tokens: 16, stream: true, stop };
      const reader = (await chat(body, { signal: left.signal })).body!.pipeThrough(new TextDecoderStream()).getReader();
      // All choices have begun once the last choice has begun.
      for (let text = ''; !text.includes('"index":127'); ) text += (await reader.read()).value!;
    });
    await Promise.all(responses);
    const held = memory();
    left.abort();
    return held;
  };
  const few = await hold(2);
  // Without the shared search, each request would take 20 MB.
  expect((await hold(12)) - few).toBeLessThan(10 * 4_000_000);
  upstream.behave({});
});
