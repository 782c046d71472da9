import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { deeply, orDeeply } from '../../deep/deeply.ts';
import {
  ask,
  COST,
  decisionOf,
  netCharge,
  newKey,
  rowsOf,
  settled,
  storedRows,
  type Told,
  toldBy,
  USAGE,
} from '../../http/replay-support.ts';
import { answerOf, waitFor } from '../../support/answers.ts';
import { expectError } from '../../support/error-contract.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { runHere } from '../../support/run-here.ts';
import {
  makeTestKey,
  type Signalbox,
  type StartOptions,
  startSignalbox,
  temporaryFolder,
} from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

/** The microcredits reserved for a request of `ask`: at most 42 tokens of prompt, and 100 tokens of output at 4. */
const RESERVED = 442_000;
const WORDS = ['One', ' two', ' three', ' four'];
/** A mebibyte in large pieces, so that the repeated part of each event is small. */
const LARGE = Array<string>(16).fill('x'.repeat(65_536));
const MEBIBYTE = 1_048_576;

let folder: string;
const upstream = useUpstream();
const running: Pick<Signalbox, 'stop'>[] = [];
let folders = 0;

beforeAll(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  upstream.behave({});
  await Promise.all(running.splice(0).map((box) => box.stop()));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
});

interface Place {
  readonly data: string;
  readonly key: string;
}

const newPlace = (): Place => ({ data: join(folder, `data${++folders}`), key: makeTestKey() });

/** Starts a server on the data of an earlier one, with the same key. */
const start = (place: Place, more?: string, ...args: string[]) => startAt(place, { args }, more);

/** Starts a server in a separate process, which the test can kill. */
const startMortal = (place: Place, more?: string) => startAt(place, { isProcess: true }, more);

async function startAt({ data, key }: Place, options: StartOptions, more = ''): Promise<Signalbox> {
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, more);
  const box = await startSignalbox({ ...options, policy, data, env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: key } });
  running.push(box);
  return box;
}

async function stopped(box: Signalbox, how: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  box.signal(how);
  await box.exited;
}

/** Sends a request and resolves once the upstream has it, or, for a stream, once content has arrived. */
async function begun(box: Signalbox, key: string, stream: boolean, signal?: AbortSignal): Promise<string> {
  const calls = upstream.requests.length;
  const asking = ask(box, key, stream ? { stream } : {}, signal ? { signal } : {});
  asking.catch(() => {});
  await waitFor(() => upstream.requests.length > calls);
  if (!stream) return '';
  const response = await asking;
  await response.body!.getReader().read();
  return decisionOf(response);
}

async function expectGoodBooks(data: string): Promise<void> {
  const { code, out } = await runHere(['ledger', 'audit', '--data', data]);
  expect([code, out.includes('nothing wrong')]).toEqual([0, true]);
}

const givenBack = ({ headers }: Pick<Told, 'headers'>): number =>
  Number(headers.get('x-signalbox-given-back') ?? 0) * 1_000_000;

for (const stream of orDeeply([true], [false])) {
  test(`the next process repeats ${stream ? 'a stream' : 'JSON'} as this one does, after a stop or a kill`, async () => {
    const place = newPlace();
    const key = newKey();
    upstream.next({ text: WORDS, ...USAGE });
    const first = await start(place);
    const { text } = await toldBy(await ask(first, key, { stream }));
    const expectAgain = async (box: Signalbox) => {
      const again = await toldBy(await ask(box, key, { stream }));
      expect([again.status, again.replayed, again.text]).toEqual([200, true, text]);
    };
    await stopped(first, 'SIGTERM');
    const second = await startMortal(place);
    await expectAgain(second);
    await stopped(second, 'SIGKILL');
    await expectAgain(await start(place));
    expect(netCharge(place.data)).toBe(COST);
  });
}

describe('kill -9 during an answer', () => {
  test('for a stream, the next start reverses the charge of the orphan, the repeat runs again, and one charge is left', async () => {
    const place = newPlace();
    const key = newKey();
    upstream.next({ text: WORDS, hang: 2 });
    const box = await startMortal(place);
    const orphan = await begun(box, key, true);
    await stopped(box, 'SIGKILL');

    const next = await start(place);
    expect(rowsOf(place.data, orphan)).toEqual([
      ['reserve', RESERVED],
      ['expire', RESERVED],
    ]);
    upstream.next({ text: WORDS, ...USAGE });
    const again = await toldBy(await ask(next, key, { stream: true }));
    expect([again.status, again.replayed, givenBack(again)]).toEqual([200, false, RESERVED]);
    await waitFor(() => rowsOf(place.data, orphan).length === 3);
    expect(rowsOf(place.data, orphan).at(-1)).toEqual(['correct', -RESERVED]);
    expect(rowsOf(place.data, decisionOf(again))).toEqual([
      ['reserve', RESERVED],
      ['settle', COST],
    ]);
    expect(netCharge(place.data)).toBe(COST);
    const third = await toldBy(await ask(next, key, { stream: true }));
    expect([third.replayed, third.text, givenBack(third)]).toEqual([true, again.text, 0]);
    await expectGoodBooks(place.data);
  });

  deeply('of the repeat, too: both are reversed, once each, however many ask at once', async () => {
    const place = newPlace();
    const key = newKey();
    upstream.behave({ hang: 'headers' });
    for (let i = 0; i < 2; i++) {
      const box = await startMortal(place);
      await begun(box, key, false);
      await stopped(box, 'SIGKILL');
    }
    upstream.behave({ text: WORDS, ...USAGE, headersAfterMs: 200 });
    const box = await start(place);
    const calls = upstream.requests.length;
    const all = await Promise.all(Array.from({ length: 20 }, async () => toldBy(await ask(box, key))));
    expect(all.filter(({ status }) => status === 409)).toHaveLength(19);
    expect(all.find(({ status }) => status === 200)?.replayed).toBeFalse();
    expect(upstream.requests.length - calls).toBe(1);
    await waitFor(() => netCharge(place.data) === COST);
    const kinds = all.flatMap(({ status, headers }) =>
      status === 200 ? rowsOf(place.data, decisionOf({ headers })) : [],
    );
    expect(kinds).toHaveLength(2);
    await expectGoodBooks(place.data);
  });

  deeply('a repeat whose orphan was released runs anew, and there is nothing to reverse', async () => {
    const place = newPlace();
    const key = newKey();
    upstream.next({ hang: 'headers' }, USAGE);
    const box = await startMortal(place, 'ledger: { on_crash: release }\n');
    await begun(box, key, false);
    await stopped(box, 'SIGKILL');
    const again = await toldBy(await ask(await start(place, 'ledger: { on_crash: release }\n'), key));
    expect([again.status, again.replayed, givenBack(again)]).toEqual([200, false, 0]);
    expect(netCharge(place.data)).toBe(COST);
  });

  deeply('an orphan does not block its repeat: its share of the budget is free again first', async () => {
    const place = newPlace();
    const key = newKey();
    const budget = 'budgets: [{ name: tight, limit_credits: 0.5, window: month, on_exhausted: reject }]\n';
    upstream.next({ hang: 'headers' }, USAGE);
    const box = await startMortal(place, budget);
    await begun(box, key, false);
    await stopped(box, 'SIGKILL');
    const next = await start(place, budget);
    await expectError(await ask(next, newKey()), 'insufficient_quota');
    expect((await ask(next, key)).status).toBe(200);
  });

  deeply(
    'another body with its key is refused and changes nothing; the same body is not reported as in flight forever',
    async () => {
      const place = newPlace();
      const key = newKey();
      upstream.next({ hang: 'headers' });
      const box = await startMortal(place);
      await begun(box, key, false);
      expect((await ask(box, key)).status).toBe(409);
      await stopped(box, 'SIGKILL');
      const next = await start(place);
      await expectError(await ask(next, key, { temperature: 0 }), 'idempotency_key_reused', 'Idempotency-Key');
      expect(netCharge(place.data)).toBe(RESERVED);
      expect((await settled(() => ask(next, key))).status).toBe(200);
    },
  );
});

describe('an answer of more than 1 MiB', () => {
  for (const stream of orDeeply([true], [false])) {
    test(`${stream ? 'as a stream' : 'as JSON'} reaches its client completely, and its repeat runs again after its charge is reversed`, async () => {
      const place = newPlace();
      const key = newKey();
      const box = await start(place);
      upstream.behave({ text: LARGE, ...USAGE });
      const told: Told[] = [];
      for (let i = 0; i < 3; i++) told.push(await toldBy(await ask(box, key, { stream })));
      for (const one of told)
        expect([one.status, one.replayed, one.text.length > MEBIBYTE]).toEqual([200, false, true]);
      // The headers of a stream are sent before its charge.
      expect(told.map(givenBack)).toEqual(stream ? [0, 0, 0] : [0, COST, COST]);
      expect(netCharge(place.data)).toBe(COST);
      // The price buys at most a fixed number of such answers.
      const { message, details } = await expectError(
        await ask(box, key, { stream }),
        'idempotency_answer_unavailable',
        'Idempotency-Key',
      );
      expect(details).toEqual({ decision_id: decisionOf(told[2]!) });
      expect(message).toContain(decisionOf(told[2]!));
      expect(netCharge(place.data)).toBe(COST);
      expect(storedRows(place.data)).toMatchObject([{ state: 'lost', losses: 3, answer: null }]);
      await expectGoodBooks(place.data);
    });
  }

  test('stays charged if its repeat cannot be paid: no answer is free', async () => {
    const place = newPlace();
    const key = newKey();
    const box = await start(
      place,
      'budgets: [{ name: tight, limit_credits: 0.5, window: month, on_exhausted: reject }]\n',
    );
    upstream.behave({ text: LARGE, ...USAGE });
    expect((await toldBy(await ask(box, key))).status).toBe(200);
    await expectError(await ask(box, key), 'insufficient_quota');
    expect(netCharge(place.data)).toBe(COST);
    expect(storedRows(place.data)).toMatchObject([{ state: 'lost', losses: 1 }]);
  });

  test('stays charged if its repeat fails at no cost, because the first answer may have been read', async () => {
    const place = newPlace();
    const key = newKey();
    const box = await start(place);
    upstream.next({ text: LARGE, ...USAGE }, { status: 400 });
    expect((await toldBy(await ask(box, key, { stream: false }))).status).toBe(200);
    await expectError(await ask(box, key, { stream: false }), 'upstream_rejected_request');
    expect(netCharge(place.data)).toBe(COST);
  });

  test('is completed even if its caller disconnected before its headers', async () => {
    const place = newPlace();
    const key = newKey();
    const box = await start(place);
    upstream.next({ text: [...LARGE, ...LARGE], ...USAGE, headersAfterMs: 200 });
    const caller = new AbortController();
    const calls = upstream.requests.length;
    const asking = ask(box, key, { stream: true }, { signal: caller.signal });
    asking.catch(() => {});
    await waitFor(() => upstream.requests.length > calls);
    caller.abort();
    await waitFor(() => storedRows(place.data)[0]?.state === 'lost');
    expect(netCharge(place.data)).toBe(COST);
    upstream.next({ text: WORDS, ...USAGE });
    const again = await toldBy(await ask(box, key, { stream: true }));
    expect(again.status).toBe(200);
  });

  test('with many small events is stored, because the repeated part of the events counts once', async () => {
    const place = newPlace();
    const key = newKey();
    const box = await start(place);
    upstream.behave({ text: Array<string>(8_000).fill('some '), ...USAGE });
    const first = await toldBy(await ask(box, key, { stream: true }));
    expect(first.text.length).toBeGreaterThan(MEBIBYTE);
    const again = await toldBy(await ask(box, key, { stream: true }));
    expect([again.replayed, again.text === first.text]).toEqual([true, true]);
    expect(storedRows(place.data)[0]!.answer!.byteLength).toBeLessThan(MEBIBYTE);
  });
});

describe('SIGTERM', () => {
  test('the server completes a request whose caller has disconnected, and stores its answer', async () => {
    const place = newPlace();
    const key = newKey();
    upstream.next({ text: WORDS, ...USAGE, firstChunkAfterMs: 100, betweenChunksMs: 200 });
    const box = await start(place);
    const caller = new AbortController();
    await begun(box, key, true, caller.signal);
    caller.abort();
    await stopped(box, 'SIGTERM');
    const again = await toldBy(await ask(await start(place), key, { stream: true }));
    expect([again.status, again.replayed]).toEqual([200, true]);
    expect(again.text).toEndWith('data: [DONE]\n\n');
    expect(netCharge(place.data)).toBe(COST);
  });

  test('the server cuts off an answer that takes longer, and its repeat runs again without a second charge', async () => {
    const place = newPlace();
    const key = newKey();
    upstream.next({ text: WORDS, hang: 2 }, { text: WORDS, ...USAGE });
    const box = await start(place, '', '--drain-ms', '200');
    const cut = await begun(box, key, true);
    await stopped(box, 'SIGTERM');
    const [, [kind, charge] = ['', 0]] = rowsOf(place.data, cut);
    expect([kind, charge > 0]).toEqual(['settle', true]);
    const again = await toldBy(await ask(await start(place), key, { stream: true }));
    expect([again.status, again.replayed]).toEqual([200, false]);
    expect(netCharge(place.data)).toBe(Math.max(charge, COST));
    await expectGoodBooks(place.data);
  });
});

test('after a key rotation, the old secret can replay the answer while the secret is valid; the new secret gets an error without a charge', async () => {
  const place = newPlace();
  const key = newKey();
  const box = await start(place);
  const first = await toldBy(await ask(box, key));
  const { out, code } = await box.run('keys', 'rotate', place.key.split('_')[2]!, '--overlap', '1h');
  expect(code).toBe(0);
  const rotated = /sb_live_\S+/.exec(out)![0];
  const headers = { authorization: `Bearer ${rotated}` };
  await waitFor(async () => (await box.get('/v1/models', { headers })).status === 200);
  const calls = upstream.requests.length;
  const error = await expectError(
    await ask(box, key, {}, { headers }),
    'idempotency_answer_unavailable',
    'Idempotency-Key',
  );
  expect(error.details).toEqual({ decision_id: decisionOf(first) });
  expect((await toldBy(await ask(box, key))).text).toBe(first.text);
  expect(upstream.requests.length).toBe(calls);
  expect((await answerOf(await ask(box, newKey(), {}, { headers }))).model).toBe('best');
});
