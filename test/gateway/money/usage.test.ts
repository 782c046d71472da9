import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Answer, answerOf, eventsOf, waitFor } from '../../support/answers.ts';
import { type Behaviour, type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { closedBooks, type Entry } from './books.ts';

/** Tests usage reports of an upstream, plausible or not: what is charged, what the journal has, and what the operator sees. */
let upstream: FakeUpstream;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  const endpoints = ['up'];
  const policy = testPolicy(
    { up: upstream.url },
    {
      plain: { endpoints },
      caching: { endpoints },
      seer: { endpoints, more: '    image_tokens_max: 1600\n' },
    },
  )
    .replace(
      /( {2}caching:[\s\S]*?)price: \{[^}]*\}/,
      '$1price: { input: 3, cached_input: 0.3, cache_write: 3.75, output: 15, per_request: 0.0005 }',
    )
    .replace(/( {2}seer:[\s\S]*?)capabilities: \[[^\]]*\]/, '$1capabilities: [vision]');
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

/** At most 42 tokens of prompt, 8 expected: `Say hello.` has 4, and the frame of a message has 4. */
const hello = [{ role: 'user', content: 'Say hello.' }];
/** 42 tokens of input and 4 × 100 for the output, in thousandths of a Credit. */
const RESERVED = 0.442;

interface Charged {
  readonly platform: Answer['platform'];
  readonly usage: Answer['usage'];
  readonly entries: readonly Entry[];
  readonly alarms: readonly string[];
}

/** Requests at most 100 tokens from `plain`, as JSON or a stream. Returns what was charged, written and logged. */
async function charged(behaviour: Behaviour, stream: boolean, body: object = {}): Promise<Charged> {
  const rows = (await closedBooks(box.data)).entries.length;
  upstream.next(behaviour);
  const response = await box.post('/v1/chat/completions', {
    model: 'plain',
    messages: hello,
    max_tokens: 100,
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    ...body,
  });
  expect(response.status).toBe(200);
  const parts = stream ? (await eventsOf(response)).chunks : [await answerOf(response)];
  const entries = await waitFor(async () => {
    const { entries: all } = await closedBooks(box.data);
    return all.length > rows + 1 ? all.slice(rows) : null;
  });
  const { platform } = parts.find((part) => part.platform)!;
  const { usage } = parts.at(-1)!;
  // The log line of the request comes after the lines of its alarms.
  await waitFor(() =>
    box.lines.some((line) => line.includes('"message":"chat"') && line.includes(platform.decision_id)),
  );
  const alarms = box.lines.filter((line) => line.includes('"level":"error"') && line.includes(platform.decision_id));
  return { platform, usage, entries, alarms };
}

const usage = (prompt: unknown, completion: unknown, more: object = {}) => ({
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: 0, ...more },
});

for (const stream of [false, true]) {
  describe(stream ? 'in a stream' : 'in JSON', () => {
    const impossible: Readonly<Record<string, Behaviour>> = {
      'negative input': usage(-5, 3),
      'negative output': usage(5, -1e9),
      'half a token': usage(5, 1.5),
      'a figure of 300 digits': usage(5, 1e308),
      'more input than any request can have': usage(2_000_000_000, 1),
      'more cached tokens than there are': usage(5, 3, { prompt_tokens_details: { cached_tokens: 6 } }),
      'negative cached input': usage(5, 3, { prompt_tokens_details: { cached_tokens: -6 } }),
      'more reasoning than output': usage(5, 3, { completion_tokens_details: { reasoning_tokens: 4 } }),
      'a thousand million million tokens': usage(1e15, 1e15),
    };
    for (const [name, said] of Object.entries(impossible)) {
      test(`Signalbox replaces a usage with ${name} by its own count, marks it as an estimate, and raises an alarm`, async () => {
        const found = await charged({ text: 'Hi', ...said }, stream);
        expect(found.platform).toMatchObject({ credits_consumed: 0.016, estimated: true });
        expect(found.usage).toMatchObject({ prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 });
        expect(found.entries).toMatchObject([
          { kind: 'reserve', amount: 442_000 },
          { kind: 'settle', amount: 16_000, input_tokens: 8, output_tokens: 2, estimated: 1 },
        ]);
        expect(found.alarms).toEqual([expect.stringContaining('an upstream reported an impossible usage')]);
      });
    }

    // 8 tokens of prompt and 2 tokens of output for a word with a capital: 8 + 8 thousandths of a Credit.
    const nothing: Readonly<Record<string, Behaviour>> = {
      'no usage': { usage: 'missing' },
      'zeros only, with content': usage(0, 0),
      nulls: usage(null, null),
      'texts instead of numbers': usage('42', '100'),
      'NaN, written as a text because JSON has no NaN': usage('NaN', 'NaN'),
    };
    for (const [name, said] of Object.entries(nothing)) {
      test(`Signalbox counts and charges an answer whose usage is ${name}`, async () => {
        const found = await charged({ text: 'Hi', ...said }, stream);
        expect(found.platform).toMatchObject({ credits_consumed: 0.016, estimated: true });
        expect(found.entries).toMatchObject([
          { kind: 'reserve' },
          { kind: 'settle', amount: 16_000, input_tokens: 8, output_tokens: 2, estimated: 1 },
        ]);
        expect(found.alarms).toEqual([]);
      });
    }

    test('if only the input or only the output is reported as 0, Signalbox counts only that figure', async () => {
      const noOutput = await charged({ text: 'Hi', ...usage(20, 0) }, stream);
      expect(noOutput.platform).toMatchObject({ credits_consumed: 0.028, estimated: true });
      const noInput = await charged({ text: 'Hi', ...usage(0, 30) }, stream);
      expect(noInput.platform).toMatchObject({ credits_consumed: 0.128, estimated: true });
    });

    test('a usage that is possible but above the hold is charged up to the hold; the operator pays the rest and gets an alarm', async () => {
      const found = await charged({ text: 'Hi', ...usage(42, 150) }, stream);
      expect(found.platform).toMatchObject({ credits_consumed: RESERVED, estimated: false });
      expect(found.entries).toMatchObject([
        { kind: 'reserve' },
        { kind: 'settle', amount: 442_000, input_tokens: 42, output_tokens: 150 },
        { kind: 'overrun', amount: 200_000 },
      ]);
      expect(found.alarms).toEqual([expect.stringContaining('billed more than was reserved')]);
    });

    test('cached input, cache writes and reasoning are charged once each', async () => {
      const body = { model: 'caching', messages: [{ role: 'user', content: 'word '.repeat(1_000) }] };
      const details = {
        prompt_tokens_details: { cached_tokens: 1_000, cache_write_tokens: 3_000 },
        completion_tokens_details: { reasoning_tokens: 60 },
      };
      const found = await charged({ text: 'Hi', ...usage(5_000, 80, details) }, stream, body);
      // 1000 × 3 + 1000 × 0.3 + 3000 × 3.75 + 80 × 15 thousandths of a Credit, and 0.5 Credits for the request.
      expect(found.platform).toMatchObject({ credits_consumed: 3 + 0.3 + 11.25 + 1.2 + 0.5, estimated: false });
    });

    test('Signalbox counts an image as part of a prompt without a usage report', async () => {
      const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
      const body = { model: 'seer', messages: [{ role: 'user', content: [image] }] };
      const { platform } = await charged({ text: 'Hi', usage: 'missing' }, stream, body);
      // A thousand tokens are assumed for an image that may have up to 1600.
      expect(platform).toMatchObject({ credits_consumed: 1.012, estimated: true });
    });
  });
}

test('Signalbox replaces a figure that a double cannot represent by its own count', async () => {
  const raw = `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1e999}}`;
  const { platform } = await charged({ raw: [raw], form: 'json' }, false);
  expect(platform).toMatchObject({ credits_consumed: 0.016, estimated: true });
});

test('a stream that is cut after a report of only zeros still pays for its prompt', async () => {
  const event = (fields: object) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', ...fields })}\n\n`;
  const choices = [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null }];
  const raw = [event({ choices, ...usage(0, 0) }), event({ choices, ...usage(0, 0) })];
  const { entries } = await charged({ raw, form: 'sse', cutAfter: 2 }, true);
  expect(entries.at(-1)).toMatchObject({ kind: 'settle', input_tokens: 8, estimated: 1 });
});
