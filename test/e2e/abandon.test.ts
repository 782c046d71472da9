import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { closedBooks, type Entry } from '../gateway/money/books.ts';
import { answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { type Behaviour, type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { freePort } from '../support/ports.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/**
 * What is charged for an answer that nobody heard to its end: the prompt, and the largest of the output counted, the
 * output last reported, and what the model will have made in the time. Attempts that fail otherwise are in
 * attempts.test.ts; what an upstream reports that cannot be is in test/gateway/money/usage.test.ts.
 */
let first: FakeUpstream;
let second: FakeUpstream;
/** Takes a request and slams the door. */
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

/** Expected tokens of the prompt: 4 of its words, 4 of its frame. A token costs 1 thousandth, of output 4. */
const PROMPT = 8;
/** `latency` of the policy: a token in 10 ms, after the first 100. */
const TTFT_MS = 100;
const MS_PER_TOKEN = 10;
/** An upstream sees within 250 ms that nobody listens; a busy machine gets much more. */
const ABORT_MS = 5_000;
const WORDS = ['aaaa', ' bbbb', ' cccc', ' dddd'];

const asked = { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };
const chat = (body: object, init: RequestInit = {}) =>
  box.post('/v1/chat/completions', { model: 'patient', ...asked, ...body }, init);

/** Runs something and tells the rows that it left, of one hold: all closed, and once. */
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

/** That the last row charges the stated rule's sum of its tokens, at least and at most so many of output. */
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
  /** What has come from upstream when it happens; it goes no further by itself. */
  readonly sent: Behaviour;
  /** Tokens of content among that. */
  readonly content: number;
  /** The answer is complete to its finish: that it ends is no break. */
  readonly finished?: true;
}

const HALF = '{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"aaaa';
const WHOLE_BUT_ONE = `${HALF}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1}`;
const part = (text: string): Behaviour => ({ raw: text === '' ? [] : [text], form: 'json' });
/** The chunks of a stream: the role, four of content, the finish, the usage. */
const POINTS: readonly Point[] = [
  { name: 'before a byte of the answer', stream: true, sent: { text: WORDS }, content: 0 },
  { name: 'at its first byte', stream: true, sent: { text: WORDS }, content: 0 },
  { name: 'at its first content', stream: true, sent: { text: WORDS }, content: 1 },
  { name: 'in its middle', stream: true, sent: { text: WORDS }, content: 2 },
  { name: 'before its finish', stream: true, sent: { text: WORDS }, content: 4 },
  { name: 'before its usage', stream: true, sent: { text: WORDS }, content: 4, finished: true },
  { name: 'before a byte of the answer', stream: false, sent: part(''), content: 0 },
  { name: 'at its first byte', stream: false, sent: part('{'), content: 0 },
  { name: 'in its middle', stream: false, sent: part(HALF), content: 0 },
  { name: 'before its last byte', stream: false, sent: part(WHOLE_BUT_ONE), content: 0 },
];
/** Chunks that have gone out at each point of the stream. */
const chunksAt = (point: Point) => POINTS.filter(({ stream }) => stream).indexOf(point) + (point.content === 4 ? 1 : 0);
const titleOf = ({ name, stream }: Point) => `${stream ? 'a stream' : 'JSON'}, ${name}`;

/** Sends a request, waits for what comes of it, stays a while and leaves. Checks that upstream learns of it. */
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
  // What was measured of earlier answers makes the first token expected sooner than the catalog has it.
  const longest = performance.now() - sentAt;
  return { least: tokensIn(leftAt - seenAt), most: tokensIn(longest) };
}

describe('a caller that disconnects', () => {
  for (const point of POINTS) {
    test(`${titleOf(point)}: the call upstream is aborted, and what it will have made is charged`, async () => {
      const { sent, stream, content } = point;
      const behaviour = stream ? { ...sent, hang: chunksAt(point) } : { ...sent, keepOpen: true };
      let made = { least: 0, most: 0 };
      const rows = await rowsOf(async () => {
        made = await leaving(behaviour, point, 250);
      });
      expect(rows).toHaveLength(2);
      expectCharge(rows, Math.max(content, made.least), Math.max(content, made.most + 1));
    });
  }

  for (const stream of [false, true]) {
    test(`${stream ? 'a stream' : 'JSON'}, before there are headers: as well, once the first token was to be expected`, async () => {
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

  test('after longer than the longest output takes is charged that and no more', async () => {
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

  test('of a stream whose upstream reports as it goes is charged what was reported last', async () => {
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
    test(`${titleOf(point)}: is charged the same, and its error says not to retry`, async () => {
      const { sent, stream, content } = point;
      const chunks = stream ? chunksAt(point) : (sent.raw?.length ?? 0);
      // What is cut behind the last of a list never is: one more stands there.
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

  test('an answer that lacks its usage alone is whole: its output is counted', async () => {
    const rows = await rowsOf(async () => {
      first.next({ text: WORDS, usage: 'missing' });
      expect((await eventsOf(await chat({ stream: true }))).done).toBeTrue();
    });
    expectCharge(rows, 4, 4);
  });

  for (const stream of [false, true]) {
    test(`${stream ? 'a stream' : 'JSON'}, before its headers: the prompt is charged, for it was sent`, async () => {
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

    test(`${stream ? 'a stream' : 'JSON'}, where no upstream listens: nothing is charged, for nothing was sent`, async () => {
      const rows = await rowsOf(async () => {
        const response = await chat({ model: 'absent', stream });
        expect([response.status, response.headers.get('x-should-retry')]).toEqual([502, 'true']);
      });
      expect(rows).toMatchObject([{ kind: 'reserve' }, { kind: 'settle', amount: 0, model: null }]);
    });
  }

  test('never costs more than was reserved, whatever it had reported', async () => {
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
  test('in a stream is given up after `idle_ms`, and what it will have made is charged', async () => {
    const aborted = first.aborted;
    first.next({ text: WORDS, hang: 3 });
    let tookMs = 0;
    const rows = await rowsOf(async () => {
      const since = performance.now();
      const { chunks } = await eventsOf(await chat({ model: 'hasty', stream: true }));
      tookMs = performance.now() - since;
      expect(chunks.at(-1)!.error.code).toBe('upstream_timeout');
    });
    // 300 ms without a byte are 30 tokens.
    expectCharge(rows, 30, tokensIn(tookMs) + 1);
    await waitFor(() => first.aborted > aborted, ABORT_MS);
  });

  for (const stream of [false, true]) {
    test(`${stream ? 'before a stream’s first token' : 'in JSON'} is given up at the deadline, and charged by the time, at most the cap`, async () => {
      const aborted = first.aborted;
      first.next({ hang: 'headers' });
      const rows = await rowsOf(async () => {
        const response = await chat({ model: 'hasty', stream, max_tokens: 20 });
        expect([response.status, (await answerOf(response)).error.code]).toEqual([504, 'upstream_timeout']);
      });
      expectCharge(rows, 20, 20);
      await waitFor(() => first.aborted > aborted, ABORT_MS);
    });

    test(`${stream ? 'before a stream’s first token' : 'in JSON'} is replaced, costs nothing that it did not report, and is aborted`, async () => {
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

  test('after a report without content is replaced, and costs what it reported', async () => {
    const usage = { prompt_tokens: 20, completion_tokens: 5 };
    first.next({ raw: [`data: ${JSON.stringify({ id: 'x', choices: [], usage })}\n\n`], form: 'sse', keepOpen: true });
    second.next({ text: 'Hi', usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 } });
    const rows = await rowsOf(async () => (await chat({ model: 'twofold', stream: true })).text());
    expect(rows.map(({ kind, amount, estimated }) => [kind, amount, estimated])).toEqual([
      ['reserve', 442_000, null],
      // What it cost is set aside once more, so that the next attempt's worst case fits.
      ['post', 40_000, 0],
      ['raise', 40_000, null],
      ['settle', 17_000, 0],
    ]);
  });
});
