import { afterEach, describe, expect, test } from 'bun:test';
import { effort } from '../deep/effort.ts';
import { closedBooks, entriesOf } from '../gateway/money/books.ts';
import { type Answer, answerOf, eventsOf, waitFor } from '../support/answers.ts';
import {
  type MeteredService,
  PROMPT_TOKENS,
  type ServiceAnswer,
  type ServiceBill,
  startMeteredService,
} from '../support/metered-service.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { readPage, total } from '../support/prometheus.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** Answers whose money is set aside while they are written. A token of input costs 0.001 Credits, a token of output 0.004. */
interface Stand {
  readonly box: Signalbox;
  readonly service: MeteredService;
  ask(more?: object, init?: RequestInit): Promise<Response>;
  stop(): Promise<void>;
}

const STOPS = '{ bills: stops, reports: each, margin_tokens: 20, margin_ms: 20 }';
const running: Stand[] = [];
afterEach(async () => {
  for (const stand of running.splice(0)) await stand.stop();
});

const same = (policy: string) => policy;

async function start(options: {
  readonly credits: number;
  readonly answer: ServiceAnswer | ((nth: number) => ServiceAnswer);
  readonly afterAbort?: string;
  readonly bills?: 'stops' | 'whole';
  readonly onExhausted?: string;
  readonly waitMs?: number;
  readonly edit?: (policy: string) => string;
}): Promise<Stand> {
  const {
    credits,
    answer,
    afterAbort = STOPS,
    bills = 'stops',
    onExhausted = 'cap',
    waitMs = 0,
    edit = same,
  } = options;
  const service = startMeteredService(bills, typeof answer === 'function' ? answer : () => answer);
  const policy = testPolicy(
    { up: service.url },
    { m: { endpoints: ['up'] } },
    `budgets: [{ name: purse, limit_credits: ${credits}, window: total, on_exhausted: ${onExhausted} }]
ledger: { contention_wait_ms: ${waitMs} }
`,
  )
    .replace('passthrough: [verbosity]', `passthrough: [verbosity], after_abort: ${afterAbort}`)
    .replace(/expected_output_tokens: \d+/g, 'expected_output_tokens: 100');
  const box = await startSignalbox({ policy: edit(policy), env: UPSTREAM_ENV });
  const stand: Stand = {
    box,
    service,
    ask(more = {}, init = {}) {
      // The expected answer has the usual length, whatever its task.
      const messages = [{ role: 'user', content: 'Why is it?' }];
      return box.post('/v1/chat/completions', { model: 'm', messages, max_tokens: 800, stream: true, ...more }, init);
    },
    async stop() {
      await box.stop();
      await service.stop();
    },
  };
  running.push(stand);
  return stand;
}

const costOf = ({ billed }: ServiceBill): number => PROMPT_TOKENS + 4 * billed;
const billed = ({ service }: Stand): number => service.bills.reduce((sum, bill) => sum + costOf(bill), 0);
const textOf = (chunks: readonly Answer[]): string =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
const endOf = (chunks: readonly Answer[]) => chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? []);
const raises = ({ box }: Stand) => entriesOf(box.data).filter(({ kind }) => kind === 'raise').length;

describe('a stream of a provider that stops after an abort', () => {
  test('the first hold of a stream covers its usual length, and grows with the stream', async () => {
    const stand = await start({ credits: 4, answer: { tokens: 600, atOnce: 5, reports: 'each' } });
    const { chunks, done } = await eventsOf(await stand.ask());
    expect([done, endOf(chunks)]).toEqual([true, ['stop']]);
    expect(textOf(chunks)).toHaveLength(4 * 600);
    expect(chunks.at(-1)!.platform).toMatchObject({
      credits_consumed: (PROMPT_TOKENS + 4 * 600) / 1000,
      estimated: false,
    });
    const [reserve] = entriesOf(stand.box.data);
    // The upper bound of the prompt, twice the usual 100 tokens, and twice the margin: 20 tokens, and 20 ms at twice 100 tokens a second.
    expect(reserve).toMatchObject({ kind: 'reserve', amount: (42 + 4 * (200 + 2 * 24)) * 1000 });
    expect(raises(stand)).toBeGreaterThan(3);
    expect((await closedBooks(stand.box.data)).faults).toEqual([]);
  });

  test('a stream makes a single hold if its worst case is a small part of the budget', async () => {
    const stand = await start({ credits: 100, answer: { tokens: 60, atOnce: 5, reports: 'each' } });
    await eventsOf(await stand.ask());
    expect(entriesOf(stand.box.data)[0]).toMatchObject({ amount: (42 + 4 * 800) * 1000 });
    expect(raises(stand)).toBe(0);
  });

  test('a stream ends correctly at the last token that is paid for, and the provider never bills above the budget', async () => {
    const answer = { tokens: 800, atOnce: 4, reports: 'each', afterAbort: 20 } as const;
    const stand = await start({ credits: 3.3, answer });
    const all = await Promise.all([stand.ask(), stand.ask(), stand.ask()].map(async (one) => eventsOf(await one)));
    await waitFor(() => stand.service.bills.every(({ isOver }) => isOver));
    expect(all.map(({ done }) => done)).toEqual([true, true, true]);
    const ends = all.map(({ chunks }) => endOf(chunks));
    expect(ends).toEqual([['length'], ['length'], ['length']]);
    for (const { chunks } of all) expect(chunks.at(-1)!.platform).toMatchObject({ output_capped_by: 'purse' });
    expect(stand.service.bills.map(({ isAborted }) => isAborted)).toEqual([true, true, true]);
    await waitFor(async () => {
      const page = readPage(await (await fetch(`${stand.box.url}/metrics`)).text());
      return total(page, 'signalbox_chats_capped_total', { fund: 'purse', end: 'length' }) === 3;
    });
    expect(billed(stand)).toBeLessThanOrEqual(3_300);
    const books = await closedBooks(stand.box.data);
    expect(books.faults).toEqual([]);
    // What the provider billed is charged, and nearly all of the budget is used.
    expect(books.funds[0]!.spent).toBeGreaterThanOrEqual(billed(stand) * 1000);
    expect(billed(stand)).toBeGreaterThan(0.8 * 3_300);
  });

  test('the hold of a stream grows into money that another answer held when the stream began', async () => {
    const answers = [
      { tokens: 60, atOnce: 5, reports: 'each' },
      { tokens: 800, atOnce: 5, reports: 'each' },
    ] as const;
    const stand = await start({ credits: 4, answer: (nth) => answers[nth]! });
    const short = await stand.ask();
    const { amount: held } = entriesOf(stand.box.data)[0]!;
    const long = eventsOf(await stand.ask());
    await short.text();
    const { chunks, done } = await long;
    expect([done, endOf(chunks)]).toEqual([true, ['stop']]);
    // The short answer held so much of the 4 Credits that the long answer would not have fitted in addition.
    expect(costOf(stand.service.bills[1]!)).toBeGreaterThan(4_000 - held / 1_000);
    expect((await closedBooks(stand.box.data)).faults).toEqual([]);
  });

  test('the hold grows to what the funds pay for at the stream’s own endpoint, not at the model’s most expensive one', async () => {
    const dear = (policy: string) =>
      policy
        .replace('providers:\n', 'providers:\n  dear: { adapter: simulated }\n')
        .replace(
          'upstream: m-upstream }]',
          'upstream: m-upstream }, { provider: dear, price: { input: 2, output: 8 } }]',
        );
    const capOf = async (credits: number) => {
      const stand = await start({ credits, answer: { tokens: 60, atOnce: 10, reports: 'each' }, edit: dear });
      const { chunks } = await eventsOf(await stand.ask());
      const [bill] = stand.service.bills;
      return { cap: bill!.cap, by: chunks.at(-1)!.platform.output_capped_by };
    };
    // At the expensive endpoint, 3 Credits pay for 364 tokens in addition to the prompt’s bound of 42; at this one for 739. 4 Credits pay
    // for all 800.
    expect(await capOf(3)).toEqual({ cap: Math.floor((3_000 - 42) / 4), by: 'purse' });
    expect(await capOf(4)).toEqual({ cap: 800, by: undefined });
  });

  test('a stream is counted by its bytes if the provider reports its usage at the end', async () => {
    const stand = await start({ credits: 3.3, answer: { tokens: 800, atOnce: 4, reports: 'last', afterAbort: 20 } });
    const { chunks } = await eventsOf(await stand.ask());
    await waitFor(() => stand.service.bills.every(({ isOver }) => isOver));
    expect(endOf(chunks)).toEqual(['stop']);
    expect(chunks.at(-1)!.platform).toMatchObject({ credits_consumed: (PROMPT_TOKENS + 4 * 800) / 1000 });
    expect(billed(stand)).toBeLessThanOrEqual(3_300);
  });

  test('a stream that is cut before any usage report is charged no less than its provider bills', async () => {
    const stand = await start({ credits: 3.3, answer: { tokens: 800, atOnce: 4, reports: 'last', afterAbort: 20 } });
    await Promise.all([1, 2, 3].map(async () => eventsOf(await stand.ask())));
    await waitFor(() => stand.service.bills.every(({ isOver }) => isOver));
    expect(stand.service.bills.some(({ isAborted }) => isAborted)).toBe(true);
    const { funds } = await closedBooks(stand.box.data);
    expect(funds[0]!.spent).toBeGreaterThanOrEqual(billed(stand) * 1_000);
    expect(billed(stand)).toBeLessThanOrEqual(3_300);
  });

  test('the whole worst case of a stream is held if its provider is known to report usage only at the end', async () => {
    const afterAbort = '{ bills: stops, margin_tokens: 20, margin_ms: 20 }';
    const stand = await start({ credits: 4, answer: { tokens: 60, atOnce: 5, reports: 'last' }, afterAbort });
    await eventsOf(await stand.ask());
    expect(entriesOf(stand.box.data)[0]).toMatchObject({ amount: (42 + 4 * 800) * 1000 });
  });

  test('the whole worst case of a stream is held with a budget that rejects', async () => {
    const stand = await start({
      credits: 4,
      answer: { tokens: 60, atOnce: 5, reports: 'each' },
      onExhausted: 'reject',
    });
    await eventsOf(await stand.ask());
    expect(entriesOf(stand.box.data)[0]).toMatchObject({ amount: (42 + 4 * 800) * 1000 });
  });
});

const { runs, random, proved } = effort('tranches', 2, 60);

test(
  'for any lengths and disconnects, a provider that keeps its declaration never bills above the budget',
  async () => {
    for (let run = 0; run < runs; run++) {
      const pick = (most: number) => Math.floor(random() * most);
      const credits = (1_500 + pick(3_000)) / 1_000;
      const stand = await start({
        credits,
        waitMs: pick(2) * 1_000,
        answer: () => ({
          tokens: 20 + pick(700),
          atOnce: 1 + pick(4),
          reports: pick(2) === 0 ? 'each' : 'last',
          afterAbort: pick(20),
        }),
      });
      const one = async (): Promise<void> => {
        const leaves = random() < 0.3 ? AbortSignal.timeout(100 + pick(800)) : undefined;
        const body = { max_tokens: 100 + pick(900), stream: random() < 0.7 };
        await stand
          .ask(body, { signal: leaves })
          .then((response) => response.text())
          .catch(() => '');
      };
      await Promise.all(Array.from({ length: 6 }, one));
      await waitFor(() => stand.service.bills.every(({ isOver }) => isOver));
      expect(billed(stand)).toBeLessThanOrEqual(credits * 1_000);
      expect((await closedBooks(stand.box.data)).faults).toEqual([]);
    }
    proved('holds that grow: random lengths, leavers and budgets; the service never bills above the budget');
  },
  runs * 30_000,
);

describe('a provider that bills aborted answers in full, or does not declare how it bills', () => {
  for (const afterAbort of ['{ bills: whole }', '{ bills: unknown }'])
    test(`the worst case of the output limit is held for a provider with the declaration: ${afterAbort}`, async () => {
      const stand = await start({ credits: 4, answer: { tokens: 60, atOnce: 5, reports: 'each' }, afterAbort });
      await eventsOf(await stand.ask());
      expect(entriesOf(stand.box.data)[0]).toMatchObject({ amount: (42 + 4 * 800) * 1000 });
    });
});

describe('a provider that bills aborted answers in full', () => {
  /** Disconnects early from an answer of 600 tokens. */
  async function leaving(max_tokens: number) {
    const answer = { tokens: 600, atOnce: 5, reports: 'each' } as const;
    const stand = await start({ credits: 20, answer, afterAbort: '{ bills: whole }', bills: 'whole' });
    const caller = new AbortController();
    const reader = (await stand.ask({ max_tokens }, { signal: caller.signal })).body!.getReader();
    for (let read = 0; read < 400; ) read += (await reader.read()).value!.length;
    caller.abort();
    await waitFor(() => stand.service.bills.every(({ isOver }) => isOver));
    const { entries, faults } = await waitFor(async () => {
      const books = await closedBooks(stand.box.data);
      return books.entries.some(({ kind }) => kind === 'settle') ? books : null;
    });
    expect(faults).toEqual([]);
    const [bill] = stand.service.bills;
    return { settle: entries.find(({ kind }) => kind === 'settle')!, bill: bill! };
  }

  test('when the caller disconnects, the whole output limit is charged, and the provider never bills more', async () => {
    const { settle, bill } = await leaving(700);
    expect(bill).toMatchObject({ isAborted: true, billed: 600 });
    expect(settle).toMatchObject({ output_tokens: 700, estimated: 1 });
    expect(settle.amount).toBeGreaterThanOrEqual(costOf(bill) * 1_000);
    // An answer that reaches its output limit is charged what its provider bills.
    const longer = await leaving(500);
    expect(longer.settle.amount).toBe(costOf(longer.bill) * 1_000);
  });
});

describe('a provider that breaks its declaration', () => {
  test('the operator pays for the excess of a broken declaration, and the provider counts as billing in full from then on', async () => {
    const answer = { tokens: 60, atOnce: 3, reports: 'last', hidden: 30 } as const;
    const stand = await start({ credits: 3.5, answer });
    await eventsOf(await stand.ask({ max_tokens: 820 }));
    const books = await closedBooks(stand.box.data);
    expect(books.faults).toEqual([]);
    expect(books.funds[0]!.spent).toBeLessThanOrEqual(3_500_000);
    expect(books.entries.map(({ kind }) => kind)).toContain('overrun');
    expect(books.entries[0]).toMatchObject({ amount: (42 + 4 * (200 + 2 * 24)) * 1000 });
    await waitFor(() => stand.box.lines.some((line) => line.includes('billed more than was reserved')));
    await eventsOf(await stand.ask({ max_tokens: 400 }));
    const reserves = entriesOf(stand.box.data).filter(({ kind }) => kind === 'reserve');
    expect(reserves[1]).toMatchObject({ amount: (42 + 4 * 400) * 1000 });
  });
});

describe('a model that reasons only on request, at a provider that does not show the reasoning', () => {
  /** 3 visible and 30 hidden tokens at a time. */
  const answer = { tokens: 60, atOnce: 3, reports: 'each', hidden: 30 } as const;
  const reasons = (policy: string) =>
    policy
      .replace('capabilities: [tools, json_schema]', 'capabilities: [tools, json_schema, reasoning]')
      .replace('passthrough: [verbosity]', 'passthrough: [verbosity, thinking]');

  for (const asked of [{ reasoning_effort: 'high' }, { reasoning_effort: 'none' }, { thinking: { type: 'enabled' } }])
    test(`the worst case of the output limit is held, so that hidden output is paid for: ${JSON.stringify(asked)}`, async () => {
      const stand = await start({ credits: 4, answer, edit: reasons });
      const { chunks } = await eventsOf(await stand.ask({ max_tokens: 900, ...asked }));
      const books = await closedBooks(stand.box.data);
      expect(books.entries[0]).toMatchObject({ amount: (42 + 4 * 900) * 1000 });
      expect(books.entries.map(({ kind }) => kind)).not.toContain('overrun');
      expect(chunks.at(-1)!.platform.credits_consumed).toBe(billed(stand) / 1_000);
    });

  test('the hold grows in tranches if the request does not enable reasoning', async () => {
    const stand = await start({ credits: 4, answer: { ...answer, hidden: 0 }, edit: reasons });
    await eventsOf(await stand.ask());
    expect(entriesOf(stand.box.data)[0]).toMatchObject({ amount: (42 + 4 * (200 + 2 * 24)) * 1000 });
  });
});

describe('a JSON request to a provider that stops after an abort', () => {
  test('a JSON request above its share of the budget is streamed upstream, assembled, and held in tranches', async () => {
    const stand = await start({ credits: 4, answer: { tokens: 600, atOnce: 5, reports: 'each' } });
    const answer = await answerOf(await stand.ask({ stream: false }));
    expect(answer.choices[0]!.message.content).toHaveLength(4 * 600);
    expect(answer.choices[0]!.finish_reason).toBe('stop');
    expect(answer.platform.credits_consumed).toBe((PROMPT_TOKENS + 4 * 600) / 1000);
    expect(stand.service.bills[0]).toMatchObject({ isStream: true });
    expect(raises(stand)).toBeGreaterThan(3);
  });

  test('a JSON request within its share stays one JSON call, with its worst case held', async () => {
    const stand = await start({ credits: 100, answer: { tokens: 60, atOnce: 5, reports: 'each' } });
    await answerOf(await stand.ask({ stream: false }));
    expect(stand.service.bills[0]).toMatchObject({ isStream: false });
    expect(entriesOf(stand.box.data)[0]).toMatchObject({ amount: (42 + 4 * 800) * 1000 });
  });
});
