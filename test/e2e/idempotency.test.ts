import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AnswerSeal } from '../../src/access/idempotency/crypto.ts';
import { parseKey } from '../../src/access/key.ts';
import {
  ask,
  COST,
  decisionOf,
  messages,
  netCharge,
  newKey,
  rowsOf,
  settled,
  storedRows,
  toldBy,
  USAGE,
} from '../http/replay-support.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { readPage, total } from '../support/prometheus.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

const COMMIT_AFTER_MS = 300;
const WORDS = ['One', ' two', ' three', ' four'];

const upstream = useUpstream();
let box: Signalbox;

beforeAll(async () => {
  const policy = testPolicy(
    { fake: upstream.url },
    { best: { endpoints: ['fake'] }, hasty: { endpoints: ['fake'], more: '    deadlines: { first_token_ms: 100 }\n' } },
    `gateway: { commit_after_ms: ${COMMIT_AFTER_MS}, retries_max: 0, repeats_in_flight: refuse }\nledger: { contention_wait_ms: 0 }\n`,
  );
  // The server runs as a process, because this test reads the database files, and closing a file would release this process's locks on it.
  box = await startSignalbox({ isProcess: true, policy, env: UPSTREAM_ENV });
});
afterEach(() => upstream.behave({}));
afterAll(async () => {
  await box.stop();
});

/** Returns how many upstream requests and how much money something has used. */
async function takenBy(run: () => Promise<unknown>): Promise<{ calls: number; charge: number }> {
  const [calls, charge] = [upstream.requests.length, netCharge(box.data)];
  await run();
  return { calls: upstream.requests.length - calls, charge: netCharge(box.data) - charge };
}

describe('a repeat with the same Idempotency-Key and body', () => {
  for (const stream of [false, true]) {
    const body = stream ? { stream, stream_options: { include_usage: true } } : { stream };
    test(`a repeat ${stream ? 'of a stream' : 'of JSON'} gets the first answer again, byte for byte, and is charged once`, async () => {
      const key = newKey();
      upstream.next({ text: WORDS, ...USAGE });
      const taken = await takenBy(async () => {
        const first = await toldBy(await ask(box, key, body));
        const again = await toldBy(await ask(box, key, body));
        expect([first.status, first.replayed, again.status, again.replayed]).toEqual([200, false, 200, true]);
        expect(again.text).toBe(first.text);
        expect(first.text).toContain(stream ? 'data: [DONE]\n\n' : '"finish_reason":"stop"');
        const own = /^(?:date|x-request-id|x-signalbox-replayed)$/;
        const kept = ({ headers }: typeof first) => [...headers].filter(([name]) => !own.test(name));
        expect(kept(again)).toEqual(kept(first));
        expect(kept(first).map(([name]) => name)).toContain('x-signalbox-model');
        expect(again.headers.get('x-request-id')).toStartWith('req_');
        expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
        expect(rowsOf(box.data, decisionOf(first)).map(([kind]) => kind)).toEqual(['reserve', 'settle']);
      });
      expect(taken).toEqual({ calls: 1, charge: COST });
    });

    test(`50 simultaneous repeats ${stream ? 'of a stream' : 'of JSON'} cause one upstream call and one charge, and the others get 409`, async () => {
      const key = newKey();
      upstream.next({ text: WORDS, ...USAGE, firstChunkAfterMs: 300, betweenChunksMs: 20 });
      const taken = await takenBy(async () => {
        const all = await Promise.all(Array.from({ length: 50 }, () => ask(box, key, body)));
        const answered = all.filter(({ status }) => status === 200);
        expect(answered).toHaveLength(1);
        for (const other of all.filter((one) => one !== answered[0])) {
          await expectError(other, 'in_flight');
          expect(other.headers.get('retry-after')).toBe('1');
        }
        // Heartbeats are not stored.
        const text = (await answered[0]!.text()).replaceAll(': waiting\n\n', '');
        const again = await Promise.all(Array.from({ length: 50 }, async () => toldBy(await ask(box, key, body))));
        expect(new Set(again.map((one) => `${one.status} ${one.replayed} ${one.text}`))).toEqual(
          new Set([`200 true ${text}`]),
        );
      });
      expect(taken).toEqual({ calls: 1, charge: COST });
    });
  }

  test('the same Idempotency-Key of another API key is another request', async () => {
    const key = newKey();
    const headers = { authorization: `Bearer ${await box.makeKey('--name', 'other')}` };
    const taken = await takenBy(async () => {
      upstream.next({ text: 'mine', ...USAGE }, { text: 'theirs', ...USAGE });
      const mine = await toldBy(await ask(box, key));
      const theirs = await toldBy(await ask(box, key, {}, { headers }));
      expect([mine.replayed, theirs.replayed]).toEqual([false, false]);
      expect(theirs.text).toContain('theirs');
      const again = await toldBy(await ask(box, key, {}, { headers }));
      expect([again.replayed, again.text]).toEqual([true, theirs.text]);
    });
    expect(taken).toEqual({ calls: 2, charge: 2 * COST });
  });

  test('two requests without an Idempotency-Key are two requests', async () => {
    upstream.behave(USAGE);
    const send = async () => (await box.post('/v1/chat/completions', { model: 'best', messages })).text();
    expect(await takenBy(async () => [await send(), await send()])).toEqual({ calls: 2, charge: 2 * COST });
  });
});

describe('another body with the same Idempotency-Key', () => {
  test('another body gets 422 if an answer is stored, and nothing is sent', async () => {
    const key = newKey();
    const first = await toldBy(await ask(box, key));
    const taken = await takenBy(async () => {
      await expectError(await ask(box, key, { temperature: 0.5 }), 'idempotency_key_reused', 'Idempotency-Key');
      expect((await toldBy(await ask(box, key))).text).toBe(first.text);
    });
    expect(taken).toEqual({ calls: 0, charge: 0 });
  });

  test('another body gets 422 while the first request runs, because waiting would not help', async () => {
    const key = newKey();
    upstream.next({ firstChunkAfterMs: 300 });
    const first = ask(box, key);
    await waitFor(async () => (await toldBy(await ask(box, key, { temperature: 0.5 }))).status === 422);
    expect((await first).status).toBe(200);
  });
});

describe('a caller with an Idempotency-Key that disconnects', () => {
  for (const stream of [false, true]) {
    for (const when of ['before the headers', 'in the middle'] as const) {
      if (!stream && when === 'in the middle') continue;
      test(`${stream ? 'a stream' : 'JSON'} ${when}: after a disconnect the request runs to its end, and the repeat gets the whole answer`, async () => {
        const key = newKey();
        const aborted = upstream.aborted;
        const slow = when === 'in the middle' ? { betweenChunksMs: 100 } : { headersAfterMs: 300 };
        upstream.next({ text: WORDS, ...USAGE, ...slow });
        const taken = await takenBy(async () => {
          const caller = new AbortController();
          const calls = upstream.requests.length;
          const leaving = ask(box, key, { stream }, { signal: caller.signal });
          leaving.catch(() => {});
          if (when === 'in the middle') {
            const reader = (await leaving).body!.getReader();
            expect(new TextDecoder().decode((await reader.read()).value)).toContain('One');
          } else await waitFor(() => upstream.requests.length > calls);
          caller.abort();
          const again = await toldBy(await settled(() => ask(box, key, { stream })));
          expect([again.status, again.replayed]).toEqual([200, true]);
          const texts = stream
            ? [...again.text.matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text)
            : [again.text];
          expect(texts.join('')).toContain('One two three four');
          if (stream) expect(again.text).toEndWith('data: [DONE]\n\n');
        });
        expect(taken).toEqual({ calls: 1, charge: COST });
        expect(upstream.aborted).toBe(aborted);
      });
    }
  }

  test('if the caller never reads, the answer is still completed and stored', async () => {
    const key = newKey();
    upstream.next({ text: Array<string>(2_000).fill('word '), usage: 'missing' });
    const unread = await ask(box, key, { stream: true, max_tokens: 4_000 });
    const again = await toldBy(await settled(() => ask(box, key, { stream: true, max_tokens: 4_000 })));
    expect(again.replayed).toBeTrue();
    expect(again.text).toBe(await unread.text());
  });
});

describe('a request with an Idempotency-Key that fails', () => {
  test('a failure without a charge is not stored: the repeat runs again, also with another body', async () => {
    const key = newKey();
    upstream.next({ status: 500 }, { text: 'Now.', ...USAGE });
    const taken = await takenBy(async () => {
      const first = await toldBy(await ask(box, key));
      expect([first.status, first.headers.get('x-should-retry')]).toEqual([502, 'true']);
      const rows = storedRows(box.data).length;
      const again = await toldBy(await ask(box, key, { temperature: 0.5 }));
      expect([again.status, again.replayed]).toEqual([200, false]);
      expect(storedRows(box.data).length).toBe(rows + 1);
    });
    expect(taken).toEqual({ calls: 2, charge: COST });
  });

  test('a failure before the decision stores nothing', async () => {
    const key = newKey();
    await expectError(await ask(box, key, { model: 'no-such' }), 'model_not_found', 'model');
    await expectError(await ask(box, key, { budget_limit: 0.000001 }), 'budget_limit_too_low', 'budget_limit');
    expect((await ask(box, key)).status).toBe(200);
  });

  for (const stream of [false, true]) {
    test(`a charged failure is stored: ${stream ? 'a stream that broke off' : 'JSON that was cut'}`, async () => {
      const key = newKey();
      const body = { stream };
      // The fake upstream cuts before the last entry of a list, so this adds another entry.
      upstream.next(stream ? { text: WORDS, cutAfter: 3 } : { raw: ['{"id":', '-'], form: 'json', cutAfter: 1 });
      const taken = await takenBy(async () => {
        const first = await toldBy(await ask(box, key, body));
        const again = await toldBy(await ask(box, key, body));
        expect([again.status, again.text, again.replayed]).toEqual([first.status, first.text, true]);
        expect(first.status).toBe(stream ? 200 : 502);
        expect(first.text).toContain('upstream_failed');
        if (!stream) {
          expect(again.headers.get('x-should-retry')).toBe('false');
          expect(Number(again.headers.get('x-signalbox-credits'))).toBeGreaterThan(0);
        }
      });
      expect(taken.calls).toBe(1);
      expect(taken.charge).toBeGreaterThan(0);
    });
  }

  test('if only a lost attempt was charged, the error says not to try again', async () => {
    const key = newKey();
    const usage = { prompt_tokens: 20, completion_tokens: 5 };
    const silent = { raw: [`data: ${JSON.stringify({ id: 'x', choices: [], usage })}\n\n`], form: 'sse' } as const;
    upstream.next({ ...silent, keepOpen: true });
    const body = { model: 'hasty', stream: true };
    const first = await toldBy(await ask(box, key, body));
    expect([first.status, first.headers.get('x-should-retry')]).toEqual([504, 'false']);
    expect(Number(first.headers.get('x-signalbox-credits'))).toBeGreaterThan(0);
    const again = await toldBy(await ask(box, key, body));
    expect([again.status, again.text, again.replayed]).toEqual([504, first.text, true]);
    // The log and the metrics have the error each time.
    const lineOf = ({ headers }: typeof first): Promise<Record<string, unknown>> =>
      waitFor(() => {
        const id = `"request":"${headers.get('x-request-id')}"`;
        const line = box.lines.find((one) => one.includes(id) && one.includes('"message":"chat"'));
        return line === undefined ? null : JSON.parse(line);
      });
    expect(await lineOf(first)).toMatchObject({ status: 504, error: 'upstream_timeout', outcome: 'failed' });
    expect(await lineOf(again)).toMatchObject({ status: 504, error: 'upstream_timeout', outcome: 'replayed' });
    const page = readPage(await (await box.get('/metrics')).text());
    const timeouts = total(page, 'signalbox_http_errors_total', { code: 'upstream_timeout' });
    expect(timeouts).toBe(total(page, 'signalbox_http_requests_total', { status: '504' }));
  });

  test('if a stream fails after its headers without a charge, the repeat runs again', async () => {
    const key = newKey();
    upstream.next({ status: 500, headersAfterMs: 2 * COMMIT_AFTER_MS }, { text: 'Now.' });
    const first = await toldBy(await ask(box, key, { stream: true }));
    expect(first.status).toBe(200);
    expect(first.text).toContain('"error"');
    const again = await toldBy(await ask(box, key, { stream: true }));
    expect(again.replayed).toBeFalse();
    expect(again.text).toEndWith('[DONE]\n\n');
  });
});

test('a defect in the middle of a stored answer is logged once, as a failed stream or a failed request', async () => {
  // A provider whose answer has a part that cannot be stored, after a part that can.
  const plugin = `import { defineProvider, Type } from 'signalbox/plugin';
export const faulty = defineProvider({
  name: 'faulty',
  contract: 2,
  status: 'alpha',
  settings: Type.Object({}),
  prepare: () => ({
    kind: 'in-process',
    *answer() {
      yield { type: 'text', choice: 0, text: 'One' };
      yield { type: 'pause', ms: 200 };
      yield { type: 'reasoning', choice: 0, text: 'Hm.', note: 1n };
      yield { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };
    },
  }),
});
`;
  const policy = testPolicy({ fake: { url: upstream.url, adapter: 'faulty' } }, { best: { endpoints: ['fake'] } })
    .replace(/, base_url.*\[verbosity\]/, '')
    .replace('providers:', 'plugins: [./faulty.ts]\nproviders:');
  const broken = await startSignalbox({ policy: { 'policy.yaml': policy, 'faulty.ts': plugin } });
  try {
    expect((await ask(broken, newKey())).status).toBe(500);
    const stream = await ask(broken, newKey(), { stream: true });
    expect(stream.status).toBe(200);
    await stream.text().catch(() => 'cut');
    const errors = () => broken.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error');
    await waitFor(() => errors().some(({ message }) => message.startsWith('a stream failed')));
    expect(errors()).toMatchObject([
      { message: 'a request failed: internal error', stack: expect.any(String) },
      { message: 'a stream failed: internal error', stack: expect.any(String), decision: decisionOf(stream) },
    ]);
  } finally {
    await broken.stop();
  }
});

describe('the header Idempotency-Key', () => {
  for (const [what, value] of [
    ['empty', ''],
    ['of 256 characters', 'k'.repeat(256)],
    ['with a tab', 'a\tb'],
    ['beyond ASCII', 'caf\u00e9'],
  ] as const) {
    test(`Idempotency-Key ${what}: the request gets a 400 that names the header, and nothing is sent`, async () => {
      const taken = await takenBy(async () => {
        await expectError(await ask(box, value), 'invalid_value', 'Idempotency-Key');
      });
      expect(taken.calls).toBe(0);
    });
  }

  test('an Idempotency-Key of 255 characters with spaces and signs is accepted', async () => {
    const key = `${newKey()} !"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~`.padEnd(255, 'x');
    expect((await toldBy(await ask(box, key))).replayed).toBeFalse();
    expect((await toldBy(await ask(box, key))).replayed).toBeTrue();
  });

  test('an Idempotency-Key on other routes is ignored', async () => {
    const init = { headers: { 'idempotency-key': 'x'.repeat(300) } };
    expect((await box.post('/v1/route', {}, init)).status).toBe(200);
  });
});

describe('the stored answer of an Idempotency-Key', () => {
  const CANARY = ['k7Qz', 'mW3x', 'Vb9L', 'tY2r'].join('');

  test('the database and its log contain no 8 characters of a prompt, answer or Idempotency-Key', async () => {
    const key = `${newKey()}-idemCanary77`;
    const prompt = `prompt ${CANARY} end`;
    const said = `answer ${CANARY.toUpperCase()} end`;
    upstream.next({ text: said });
    const body = { messages: [{ role: 'user', content: prompt }] };
    const first = await toldBy(await ask(box, key, body));
    expect(first.text).toContain(said);
    expect((await toldBy(await ask(box, key, body))).text).toBe(first.text);
    const files = readdirSync(box.data).filter((name) => name.startsWith('signalbox.db'));
    expect(files).toContain('signalbox.db-wal');
    const bytes = Buffer.concat(files.map((name) => readFileSync(join(box.data, name))));
    for (const text of [CANARY, CANARY.toUpperCase(), 'idemCanary77']) {
      for (let at = 0; at + 8 <= text.length; at++) {
        expect([at, bytes.includes(text.slice(at, at + 8))]).toEqual([at, false]);
      }
    }
    expect(box.lines.join('\n')).not.toContain(CANARY);
  });

  test('only the secret that sent the request can decrypt its stored answer', async () => {
    const key = newKey();
    const { choices } = await answerOf(await ask(box, key));
    const { salt, decision, answer } = storedRows(box.data).at(-1)!;
    const openedBy = (secret: string) => new AnswerSeal(secret, salt).open(answer!, String(decision));
    const secretOf = (key: string) => parseKey(key)!.secret;
    expect(openedBy(secretOf(box.key))).toContain(JSON.stringify(choices[0]!.message.content));
    expect(openedBy(secretOf(await box.makeKey('--name', 'other')))).toBeNull();
    expect(openedBy(box.key)).toBeNull();
    expect(openedBy('')).toBeNull();
  });

  test('the claim on an Idempotency-Key is stored before the request is sent upstream', async () => {
    const key = newKey();
    upstream.next({ headersAfterMs: 300 });
    const calls = upstream.requests.length;
    const asking = ask(box, key);
    await waitFor(() => upstream.requests.length > calls);
    expect(storedRows(box.data).at(-1)?.state).toBe('running');
    await asking;
    expect(storedRows(box.data).at(-1)?.state).toBe('kept');
  });
});

test('a replay reports the cost of the answer, but costs nothing itself; the log has it', async () => {
  const key = newKey();
  const { platform } = await answerOf(await ask(box, key));
  const before = netCharge(box.data);
  const again = await answerOf(await ask(box, key));
  expect(again.platform).toEqual(platform);
  expect(netCharge(box.data)).toBe(before);
  const isTold = (line: string) => line.includes('"outcome":"replayed"') && line.includes(platform.decision_id);
  await waitFor(() => box.lines.some(isTold));
});
