import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { closedBooks, type Entry } from '../gateway/money/books.ts';
import { answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { type Behaviour, type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { freePort } from '../support/ports.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/**
 * The charge for an answer that no caller received to its end: the prompt, and the largest of the counted output, the latest reported
 * output, and the output that the model writes in that time. Attempts that fail in other ways are in attempts.test.ts; impossible reports
 * of an upstream are in test/gateway/money/usage.test.ts.
 */
let first: FakeUpstream;
let second: FakeUpstream;
/** An upstream that accepts a request and closes the connection at once. */
let slammer: ReturnType<typeof startSlammer>;
let box: Signalbox;

const DEADLINES = '    deadlines: { first_token_ms: 500, idle_ms: 300, total_ms: 1200 }\n';

beforeAll(async () => {
  first = startFakeUpstream({ key: UPSTREAM_KEY });
  second = startFakeUpstream({ key: UPSTREAM_KEY });
  slammer = startSlammer();
  const policy = testPolicy(
    {
      first: first.url,
      second: second.url,
      slammer: `http://127.0.0.1:${slammer.port}/v1`,
      nobody: `http://127.0.0.1:${freePort()}/v1`,
    },
    {
      patient: { endpoints: ['first'] },
      hasty: { endpoints: ['first'], more: DEADLINES },
      twofold: { endpoints: ['first', 'second'], more: DEADLINES },
      slammed: { endpoints: ['slammer'] },
      absent: { endpoints: ['nobody'] },
    },
  );
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});
afterAll(async () => {
  await box.stop();
  slammer.stop(true);
  await Promise.all([first.stop(), second.stop()]);
});

function startSlammer() {
  return Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: (socket) => void socket.terminate() } });
}

/** The expected tokens of the prompt: 4 for its words, 4 for its frame. A token of input costs 0.001 Credits, a token of output 0.004. */
const PROMPT = 8;
/** `latency` of the policy: a token every 10 ms after the first 100 ms. */
const TTFT_MS = 100;
const MS_PER_TOKEN = 10;
/** An upstream notices within 250 ms that its client has disconnected; a busy machine gets much more time, ms. */
const ABORT_MS = 5_000;
const WORDS = ['aaaa', ' bbbb', ' cccc', ' dddd'];

const asked = { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };
const chat = (body: object, init: RequestInit = {}) =>
  box.post('/v1/chat/completions', { model: 'patient', ...asked, ...body }, init);

/** Runs something and returns the journal rows that it wrote for its single hold, which must be closed exactly once. */
async function rowsOf(run: () => Promise<unknown>): Promise<readonly Entry[]> {
  const before = (await closedBooks(box.data)).entries.length;
  await run();
  const { entries, reservations, faults } = await waitFor(async () => {
    const books = await closedBooks(box.data);
    return books.entries.length > before ? books : null;
  });
  const rows = entries.slice(before);
  expect(faults).toEqual([]);
  expect(new Set(rows.map(({ reservation }) => reservation)).size).toBe(1);
  expect(reservations.get(rows[0]!.reservation!)!.closings).toBe(1);
  return rows;
}

/** Expects that the last row charges its tokens at the stated prices, with between `least` and `most` tokens of output. */
function expectCharge(rows: readonly Entry[], least: number, most: number, prompt = PROMPT): void {
  const [{ kind: opening, amount: reserved }, last] = [rows[0]!, rows.at(-1)!];
  expect([opening, last.kind, last.estimated, last.input_tokens]).toEqual(['reserve', 'settle', 1, prompt]);
  expect(last.output_tokens).toBeWithin(least, most + 1);
  expect(last.amount).toBe(1000 * prompt + 4000 * last.output_tokens!);
  expect(last.amount).toBeLessThanOrEqual(reserved);
}

const tokensIn = (ms: number) => Math.max(0, ms / MS_PER_TOKEN);

interface Point {
  readonly name: string;
  readonly stream: boolean;
  /** The part of the answer that the upstream has sent at this point. The upstream sends no more until the test makes it. */
  readonly sent: Behaviour;
  /** How many tokens of content that part has. */
  readonly content: number;
  /** The answer is complete up to its finish reason, so its end is not a failure. */
  readonly finished?: true;
}

const HALF = '{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"aaaa';
const WHOLE_BUT_ONE = `${HALF}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1}`;
const part = (text: string): Behaviour => ({ raw: text === '' ? [] : [text], form: 'json' });
/** The chunks of a stream: the role, four chunks of content, the finish reason, the usage. */
const POINTS: readonly Point[] = [
  { name: 'before the first byte of the answer', stream: true, sent: { text: WORDS }, content: 0 },
  { name: 'at its first byte', stream: true, sent: { text: WORDS }, content: 0 },
  { name: 'at its first content', stream: true, sent: { text: WORDS }, content: 1 },
  { name: 'in its middle', stream: true, sent: { text: WORDS }, content: 2 },
  { name: 'before its finish', stream: true, sent: { text: WORDS }, content: 4 },
  { name: 'before its usage', stream: true, sent: { text: WORDS }, content: 4, finished: true },
  { name: 'before the first byte of the answer', stream: false, sent: part(''), content: 0 },
  { name: 'at its first byte', stream: false, sent: part('{'), content: 0 },
  { name: 'in its middle', stream: false, sent: part(HALF), content: 0 },
  { name: 'before its last byte', stream: false, sent: part(WHOLE_BUT_ONE), content: 0 },
];
/** How many chunks were sent at each point of the stream. */
const chunksAt = (point: Point) => POINTS.filter(({ stream }) => stream).indexOf(point) + (point.content === 4 ? 1 : 0);
const titleOf = ({ name, stream }: Point) => `${stream ? 'a stream' : 'JSON'}, ${name}`;

/** Sends a request, waits for the part of the answer, stays connected a while and disconnects. Checks that the upstream notices it. */
async function leaving(behaviour: Behaviour, { stream, content }: Pick<Point, 'stream' | 'content'>, stayMs: number) {
  const caller = new AbortController();
  const [requests, aborted] = [first.requests.length, first.aborted];
  first.next(behaviour);
  const sentAt = performance.now();
  const response = chat({ stream }, { signal: caller.signal });
  response.catch(() => {});
  await waitFor(() => first.requests.length > requests);
  let seenAt = performance.now() + TTFT_MS;
  if (content > 0) {
    const reader = (await response).body!.getReader();
    for (let text = ''; !text.includes(WORDS[content - 1]!); ) {
      text += new TextDecoder().decode((await reader.read()).value);
      seenAt = Math.min(seenAt, performance.now());
    }
  }
  await Bun.sleep(stayMs);
  const leftAt = performance.now();
  caller.abort();
  await waitFor(() => first.aborted > aborted, ABORT_MS);
  // Measurements of earlier answers make the first token expected sooner than the catalog says.
  const longest = performance.now() - sentAt;
  return { least: tokensIn(leftAt - seenAt), most: tokensIn(longest) };
}

describe('a caller that disconnects', () => {
  for (const point of POINTS) {
    test(`${titleOf(point)}: a disconnect of the caller aborts the upstream call, and the output that the model has written is charged`, async () => {
      const { sent, stream, content, finished } = point;
      const behaviour = stream ? { ...sent, hang: chunksAt(point) } : { ...sent, keepOpen: true };
      let made = { least: 0, most: 0 };
      const rows = await rowsOf(async () => {
        made = await leaving(behaviour, point, 250);
      });
      expect(rows).toHaveLength(2);
      // A finished answer is charged as if its caller had stayed: by its text, if no report of its usage follows.
      expectCharge(rows, finished ? content : Math.max(content, made.least), Math.max(content, made.most + 1));
    });
  }

  for (const stream of [false, true]) {
    test(`${stream ? 'a stream' : 'JSON'}, before its headers: a disconnect is charged once the first token was to be expected`, async () => {
      let made = { least: 0, most: 0 };
      const rows = await rowsOf(async () => {
        made = await leaving({ hang: 'headers' }, { stream, content: 0 }, 250);
      });
      expectCharge(rows, made.least, made.most + 1);
      const early = await rowsOf(async () => {
        made = await leaving({ hang: 'headers' }, { stream, content: 0 }, 0);
      });
      expectCharge(early, 0, made.most + 1);
    });
  }

  test('a disconnect long after the longest output is charged the longest output and no more', async () => {
    const rows = await rowsOf(async () => {
      const caller = new AbortController();
      first.next({ hang: 'headers' });
      const response = chat({ max_tokens: 5 }, { signal: caller.signal }).catch(() => null);
      await Bun.sleep(400);
      caller.abort();
      await response;
    });
    expectCharge(rows, 5, 5);
  });

  test('a disconnect from a stream with intermediate usage reports is charged the latest report', async () => {
    const usage = (prompt: number, completion: number) => ({ prompt_tokens: prompt, completion_tokens: completion });
    const event = (fields: object) => `data: ${JSON.stringify({ id: 'x', ...fields })}\n\n`;
    const choices = [{ index: 0, delta: { content: 'aaaa' }, finish_reason: null }];
    const raw = [event({ choices, usage: usage(40, 3) }), event({ choices, usage: usage(40, 95) })];
    const rows = await rowsOf(() => leaving({ raw, form: 'sse', keepOpen: true }, { stream: true, content: 1 }, 50));
    expectCharge(rows, 95, 95, 40);
  });
});

describe('an upstream that breaks off', () => {
  for (const point of POINTS.filter(({ finished }) => !finished)) {
    test(`${titleOf(point)}: if the upstream breaks off, the charge is the same, and the error says not to retry`, async () => {
      const { sent, stream, content } = point;
      const chunks = stream ? chunksAt(point) : (sent.raw?.length ?? 0);
      // The fake upstream cuts before the last entry of a list, so this adds another entry.
      const raw = stream ? {} : { raw: [...(sent.raw ?? []), '-'] };
      first.next({ ...sent, ...raw, cutAfter: chunks });
      let tookMs = 0;
      const rows = await rowsOf(async () => {
        const since = performance.now();
        const response = await chat({ stream });
        tookMs = performance.now() - since;
        if (content > 0) {
          const { chunks: events, done } = await eventsOf(response);
          tookMs = performance.now() - since;
          expect([response.status, done, events.at(-1)?.error.code]).toEqual([200, false, 'upstream_failed']);
          expect(events.at(-1)!.platform).toMatchObject({ estimated: true });
        } else {
          expect(response.status).toBe(502);
          expect(response.headers.get('x-should-retry')).toBe('false');
        }
      });
      expectCharge(rows, content, Math.max(content, tokensIn(tookMs) + 1));
    });
  }

  test('an answer that lacks only its usage is complete: its output is counted', async () => {
    const rows = await rowsOf(async () => {
      first.next({ text: WORDS, usage: 'missing' });
      expect((await eventsOf(await chat({ stream: true }))).done).toBeTrue();
    });
    expectCharge(rows, 4, 4);
  });

  for (const stream of [false, true]) {
    test(`${stream ? 'a stream' : 'JSON'}, before its headers: if the upstream breaks off, the prompt is charged, because it was sent`, async () => {
      let tookMs = 0;
      const rows = await rowsOf(async () => {
        const since = performance.now();
        const response = await chat({ model: 'slammed', stream });
        tookMs = performance.now() - since;
        expect(response.status).toBe(502);
        expect(response.headers.get('x-should-retry')).toBe('false');
      });
      expectCharge(rows, 0, tokensIn(tookMs) + 1);
    });

    test(`${stream ? 'a stream' : 'JSON'}, without a listening upstream: nothing is charged, because nothing was sent`, async () => {
      const rows = await rowsOf(async () => {
        const response = await chat({ model: 'absent', stream });
        expect([response.status, response.headers.get('x-should-retry')]).toEqual([502, 'true']);
      });
      expect(rows).toMatchObject([{ kind: 'reserve' }, { kind: 'settle', amount: 0, model: null }]);
    });
  }

  test('a broken answer never costs more than was reserved, whatever usage it had reported', async () => {
    const choices = [{ index: 0, delta: { content: 'aaaa' }, finish_reason: null }];
    const usage = { prompt_tokens: 42, completion_tokens: 5_000 };
    first.next({ raw: [`data: ${JSON.stringify({ id: 'x', choices, usage })}\n\n`, '-'], form: 'sse', cutAfter: 1 });
    const rows = await rowsOf(async () => (await chat({ stream: true })).text());
    expect(rows).toMatchObject([
      { kind: 'reserve', amount: 442_000 },
      { kind: 'settle', amount: 442_000, estimated: 1 },
      { kind: 'overrun', amount: 42_000 + 4000 * 5_000 - 442_000 },
    ]);
  });
});

describe('an upstream that goes silent', () => {
  test('a stream that goes silent is given up after `idle_ms`, and the output that the model has written is charged', async () => {
    const aborted = first.aborted;
    first.next({ text: WORDS, hang: 3 });
    let tookMs = 0;
    const rows = await rowsOf(async () => {
      const since = performance.now();
      const { chunks } = await eventsOf(await chat({ model: 'hasty', stream: true }));
      tookMs = performance.now() - since;
      expect(chunks.at(-1)!.error.code).toBe('upstream_timeout');
    });
    // In 300 ms without a byte the model writes 30 tokens.
    expectCharge(rows, 30, tokensIn(tookMs) + 1);
    await waitFor(() => first.aborted > aborted, ABORT_MS);
  });

  for (const stream of [false, true]) {
    test(`an upstream that is silent ${stream ? 'before a stream’s first token' : 'in JSON'} is given up at the deadline, and charged by the time, up to the output limit`, async () => {
      const aborted = first.aborted;
      first.next({ hang: 'headers' });
      const rows = await rowsOf(async () => {
        const response = await chat({ model: 'hasty', stream, max_tokens: 20 });
        expect([response.status, (await answerOf(response)).error.code]).toEqual([504, 'upstream_timeout']);
      });
      expectCharge(rows, 20, 20);
      await waitFor(() => first.aborted > aborted, ABORT_MS);
    });

    test(`an upstream that is silent ${stream ? 'before a stream’s first token' : 'in JSON'} is aborted and replaced by another, and costs only what it reported`, async () => {
      const aborted = first.aborted;
      first.next({ hang: 'headers' });
      second.next({ text: 'Hi', usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 } });
      const rows = await rowsOf(async () => {
        const response = await chat({ model: 'twofold', stream, max_tokens: 10 });
        expect(response.status).toBe(200);
        await response.text();
      });
      expect(rows).toMatchObject([
        { kind: 'reserve' },
        { kind: 'settle', amount: 17_000, input_tokens: 9, output_tokens: 2, estimated: 0 },
      ]);
      await waitFor(() => first.aborted > aborted, ABORT_MS);
    });
  }

  test('an upstream that is silent after a report without content is replaced, and costs what it reported', async () => {
    const usage = { prompt_tokens: 20, completion_tokens: 5 };
    first.next({ raw: [`data: ${JSON.stringify({ id: 'x', choices: [], usage })}\n\n`], form: 'sse', keepOpen: true });
    second.next({ text: 'Hi', usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 } });
    const rows = await rowsOf(async () => (await chat({ model: 'twofold', stream: true })).text());
    expect(rows.map(({ kind, amount, estimated }) => [kind, amount, estimated])).toEqual([
      ['reserve', 442_000, null],
      // The hold is raised by the cost of the failed attempt, so that the next attempt's worst case fits.
      ['post', 40_000, 0],
      ['raise', 40_000, null],
      ['settle', 17_000, 0],
    ]);
  });
});
