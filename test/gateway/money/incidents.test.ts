import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { waitFor } from '../../support/answers.ts';
import { type Behaviour, type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { type LivePolicy, startLivePolicy } from '../../support/live-policy.ts';
import { testPolicy, UPSTREAM_KEY } from '../../support/policies.ts';
import { type Books, closedBooks } from './books.ts';

/**
 * Incidents with budgets that happened in other products, each replayed through a server's HTTP interface. Incidents that the books alone
 * prevent are in test/store/incidents.test.ts, kills in test/crash, and further faults of providers in test/fault.
 */
let upstream: FakeUpstream;
let live: LivePolicy;

const policy = (url: string) =>
  testPolicy(
    { up: url },
    {
      plain: { endpoints: ['up'], more: '    deadlines: { first_token_ms: 400, idle_ms: 300, total_ms: 1500 }\n' },
      tiered: { endpoints: ['up'] },
    },
    'ledger: { contention_wait_ms: 0 }\n',
  ).replace(
    /( {2}tiered:[\s\S]*?)price: \{[^}]*\}/,
    '$1price: { input: 1, output: 4, tiers: [{ over_input_tokens: 1000, input: 3, output: 9 }], as_of: 2026-11-01, basis: own }',
  );
const budgets = (more = '') =>
  `budgets:\n  - { name: day, limit_credits: 100, window: day${more} }\n  - { name: ever, limit_credits: 200, window: total }\n`;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  live = await startLivePolicy({ 'base.yaml': policy(upstream.url), 'budgets.yaml': budgets() });
});
afterAll(async () => {
  await live.stop();
  await upstream.stop();
});

const asked = { model: 'plain', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };
const WORDS = ['aaaa', ' bbbb', ' cccc', ' dddd', ' eeee', ' ffff'];

const chat = (behaviour: Behaviour, body: object = {}, init: RequestInit = {}): Promise<Response> => {
  upstream.next(behaviour);
  return live.box.post('/v1/chat/completions', { ...asked, ...body }, init);
};

/** Reads this many bytes of an answer, and then disconnects. By default the caller reads the whole answer. */
async function hear(response: Response, bytes = Number.POSITIVE_INFINITY): Promise<number> {
  const reader = response.body!.getReader();
  let heard = 0;
  for (;;) {
    if (heard >= bytes) await reader.cancel();
    const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
    if (done) return heard;
    heard += value?.length ?? 0;
  }
}

interface FundShown {
  readonly name: string;
  readonly spent_credits: number;
  readonly held_credits: number;
  readonly open_reservations: number;
}
const fundsShown = async (): Promise<readonly FundShown[]> =>
  ((await (await live.box.get('/admin/ledger')).json()) as { funds: readonly FundShown[] }).funds;
const spentOf = async (name: string): Promise<number> =>
  (await fundsShown()).find((fund) => fund.name === name)?.spent_credits ?? 0;

/** Runs something. After the run, each of its holds must be closed once, and no fund may still hold money. */
async function settled(reservations: number, run: () => Promise<unknown>): Promise<Books> {
  const before = (await closedBooks(live.box.data)).reservations.size;
  await run();
  const books = await waitFor(async () => {
    const found = await closedBooks(live.box.data);
    return found.reservations.size >= before + reservations ? found : null;
  });
  // These books do not know edits. The audit at the end does.
  expect(books.faults.filter((fault) => !fault.includes('attach of'))).toEqual([]);
  expect(books.reservations.size).toBe(before + reservations);
  for (const { closings } of books.reservations.values()) expect(closings).toBe(1);
  for (const fund of await fundsShown()) expect(fund).toMatchObject({ held_credits: 0, open_reservations: 0 });
  return books;
}

describe('a hold that was never released: the budget was full, although nothing was spent', () => {
  test('every hold is released after callers disconnect at any byte of a stream', async () => {
    const whole = await hear(await chat({ text: WORDS }, { stream: true }));
    const points = Array.from({ length: 24 }, (_, at) => Math.floor((at * whole) / 23));
    await settled(points.length, async () => {
      for (const point of points) {
        await hear(await chat({ text: WORDS, betweenChunksMs: 2 }, { stream: true }), point);
      }
    });
  });

  test('every hold is released after callers disconnect before or during an answer without streaming', async () => {
    await settled(4, async () => {
      for (const ms of [5, 20, 60, 120]) {
        const leaving = new AbortController();
        const sent = upstream.requests.length;
        const left = chat({ text: WORDS, headersAfterMs: 200 }, {}, { signal: leaving.signal }).catch(() => null);
        await waitFor(() => upstream.requests.length > sent);
        await Bun.sleep(ms);
        leaving.abort();
        await left;
      }
    });
  });

  test('every hold is released after upstreams break off after any chunk, end too soon, fail in an answer, or fall silent', async () => {
    const failing = ['data: {"error":{"message":"overloaded","type":"server_error"}}\n\n'];
    const endings: Behaviour[] = [
      ...WORDS.flatMap((_, at) => [{ cutAfter: at }, { endAfter: at }]),
      { raw: failing, form: 'sse' },
      { hang: 'headers' },
      { hang: 2 },
      { status: 500 },
      { fail: 'context' },
    ];
    for (const stream of [true, false]) {
      await settled(endings.length, () =>
        Promise.all(
          endings.map((ending) => chat({ text: WORDS, ...ending }, { stream }).then((answer) => hear(answer))),
        ),
      );
    }
  });

  test('every hold is released after edits of the budgets while requests run', async () => {
    await settled(6, async () => {
      const sent = upstream.requests.length;
      const running = WORDS.map(() => chat({ text: WORDS, headersAfterMs: 250 }));
      await waitFor(() => upstream.requests.length === sent + WORDS.length);
      for (const more of [', alert_at: [0.5]', ', each: key', '']) {
        live.write('budgets.yaml', budgets(more));
        expect((await live.reload()).status).toBe(200);
      }
      for (const answer of await Promise.all(running)) expect(answer.status).toBe(200);
    });
  });
});

describe('a request that is charged twice', () => {
  test('an answer that is repeated under the same Idempotency-Key is charged once', async () => {
    const headers = { 'idempotency-key': 'incident-1', authorization: `Bearer ${live.box.key}` };
    const books = await settled(1, async () => {
      const first = await (await chat({ text: WORDS }, {}, { headers })).text();
      for (let turn = 0; turn < 3; turn++) {
        const again = await live.box.post('/v1/chat/completions', asked, { headers });
        expect(await again.text()).toBe(first);
      }
    });
    expect(books.entries.filter(({ kind }) => kind === 'settle').length).toBe(books.reservations.size);
  });
});

describe('a counter that was initialized again and counted double', () => {
  test('spending counts once although the same budgets are loaded, removed and added again many times', async () => {
    // 1 token of prompt and 1 token of output cost 0.005 Credits.
    const tick = { text: 'Hi', usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } };
    const spent = await Promise.all(['day', 'ever'].map(spentOf));
    let asked = 0;
    for (const text of [budgets(', alert_at: [0.9]'), 'budgets: []\n', budgets(), `${budgets()}\n# again`]) {
      live.write('budgets.yaml', text);
      expect((await live.reload()).status).toBe(200);
      await settled(1, async () => hear(await chat(tick)));
      asked++;
      if (!text.includes('day')) continue;
      // A budget that was removed and added again is counted from the entries of its window.
      for (const [at, name] of ['day', 'ever'].entries()) {
        expect(await spentOf(name)).toBeCloseTo(spent[at]! + 0.005 * asked, 6);
      }
    }
  });
});

describe('a budget that grew when it was used', () => {
  const usage = (prompt: unknown, completion: unknown) => ({
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: 0 },
  });
  const reports: Readonly<Record<string, Behaviour>> = {
    'a negative usage': usage(-1_000_000, -1_000_000),
    'negative output with a prompt': usage(5, -50),
    'no usage': { usage: 'missing' },
    'a usage of zeros': usage(0, 0),
    '10¹⁵ tokens': usage(1e15, 1e15),
    'texts for figures': usage('-7', 'NaN'),
    'more cached tokens than there were': {
      usage: { ...usage(5, 3).usage, prompt_tokens_details: { cached_tokens: 1_000_000 } },
    },
  };
  for (const [name, report] of Object.entries(reports)) {
    for (const stream of [false, true]) {
      test(`a budget does not grow if an upstream reports ${name}${stream ? ' in a stream' : ''}`, async () => {
        const before = await spentOf('ever');
        await settled(1, async () => hear(await chat({ text: WORDS, ...report }, { stream })));
        const rise = (await spentOf('ever')) - before;
        // The charge is never 0, and never above the worst case of 0.442 Credits (42 and 4 × 100 thousandths).
        expect(rise).toBeGreaterThan(0.01);
        expect(rise).toBeLessThan(0.442 + 1e-9);
      });
    }
  }
});

test('a long prompt is charged at the expensive price tier: the actual size decides', async () => {
  const body = { model: 'tiered', messages: [{ role: 'user', content: 'word '.repeat(900) }] };
  const charge = async (prompt: number) => {
    const before = await spentOf('ever');
    const usage = { prompt_tokens: prompt, completion_tokens: 10, total_tokens: prompt + 10 };
    await settled(1, async () => hear(await chat({ text: 'Hi', usage }, body)));
    return Math.round(((await spentOf('ever')) - before) * 1_000);
  };
  expect(await charge(1_000)).toBe(1_000 + 40);
  expect(await charge(1_001)).toBe(3 * 1_001 + 90);
});

test('after all incidents of this file, the audit finds no mistake, and no hold is open', async () => {
  await closedBooks(live.box.data);
  expect(await live.box.run('ledger', 'audit', '--idle')).toMatchObject({
    code: 0,
    out: expect.stringContaining('nothing wrong'),
  });
});
