import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { DecisionOutcome } from '../../src/core/decision/outcome.ts';
import { decodeBody } from '../../src/store/sql/records/body.ts';
import { effort } from '../deep/effort.ts';
import { closedBooks, read } from '../gateway/money/books.ts';
import { waitFor } from '../support/answers.ts';
import { type Behaviour, type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type ArrivedSpan, type Collector, startCollector } from '../support/otlp.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { readPage, total } from '../support/prometheus.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/**
 * The law: however requests begin and end, each has one log line and one trace and is counted once; the sums of the metrics equal the sums
 * of the records and of the journal.
 */
const { runs, seed, proved } = effort('seen', 3, 100);

const ways = ['whole', 'slow', 'stuck', 'failing', 'cut'] as const;
const one = fc.record({
  way: fc.constantFrom(...ways),
  stream: fc.boolean(),
  /** A repeat with the same name waits for the running request, or gets its stored answer. */
  name: fc.option(fc.constantFrom('a', 'b'), { freq: 3 }),
  model: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom('best', 'plain', 'auto') },
    { weight: 1, arbitrary: fc.constant('no-such') },
  ),
  /** When the caller disconnects, ms; null if the caller stays. A request that is stuck ends at its deadline. */
  leaves: fc.option(fc.constantFrom(0, 5, 40, 120), { freq: 2 }),
  isAlone: fc.boolean(),
});
type One = typeof one extends fc.Arbitrary<infer Value> ? Value : never;

const BEHAVIOURS: Readonly<Record<One['way'], Behaviour>> = {
  whole: {},
  slow: { text: ['one ', 'two ', 'three'], firstChunkAfterMs: 20, betweenChunksMs: 20 },
  stuck: { hang: 'headers' },
  failing: { status: 500 },
  cut: { text: ['one ', 'two ', 'three '], cutAfter: 2 },
};
const DEADLINES = '    deadlines: { first_token_ms: 200, idle_ms: 200, total_ms: 400 }\n';
const ROUTE = { route: '/v1/chat/completions' };

let collector: Collector;
let upstream: FakeUpstream;
let box: Signalbox;
beforeAll(async () => {
  collector = startCollector();
  upstream = startFakeUpstream({
    key: UPSTREAM_KEY,
    // The text of a request says what the fake upstream shall do with it.
    behaviour: ({ body }) => BEHAVIOURS[ways.find((way) => JSON.stringify(body).includes(`be ${way}`)) ?? 'whole'],
  });
  const more = `gateway: { retries_max: 1, concurrency_max: 2, queue_ms: 150 }
budgets: [{ name: all, limit_credits: 1000, window: total }]
`;
  const models = {
    best: { endpoints: ['first', 'second'], quality: 0.9, more: DEADLINES },
    plain: { endpoints: ['second'], quality: 0.5, price: { input: 0.1, output: 0.4 }, more: DEADLINES },
  };
  const policy = testPolicy({ first: upstream.url, second: upstream.url }, models, more);
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' };
  box = await startSignalbox({ policy, env: { ...UPSTREAM_ENV, ...traced } });
});
afterAll(async () => {
  await Promise.all([box.stop(), upstream.stop(), collector.stop()]);
});

let run = 0;

async function ask({ way, stream, name, model, leaves }: One): Promise<void> {
  const leaving = new AbortController();
  const body = { model, stream, messages: [{ role: 'user', content: `be ${way}` }], max_tokens: 20 };
  const headers: Record<string, string> =
    name === null ? {} : { 'idempotency-key': `${name} ${way} ${model} ${stream} ${run}` };
  const asked = box.post('/v1/chat/completions', body, { headers, signal: leaving.signal });
  if (leaves !== null) setTimeout(() => leaving.abort(), leaves);
  await asked.then((answer) => answer.text()).catch(() => '');
}

interface Line {
  readonly message: string;
  readonly request: string;
  readonly outcome?: DecisionOutcome['status'] | 'replayed';
  readonly credits?: number;
}
const lines = (): Line[] =>
  box.lines.map((text) => JSON.parse(text) as Line).filter(({ message }) => message === 'chat');
const pageText = async (): Promise<string> => (await fetch(`${box.url}/metrics`)).text();
const isIdle = async () => {
  const page = readPage(await pageText());
  return ['signalbox_requests_open', 'signalbox_requests_waiting', 'signalbox_chats_open'].every(
    (name) => total(page, name) === 0,
  );
};

const outcomes = (): DecisionOutcome[] =>
  read<{ body: string }>(box.data, "SELECT body FROM records WHERE kind = 'chat'").flatMap(
    ({ body }) => decodeBody(body).outcome ?? [],
  );
const sumOf = (figures: readonly number[]): number => figures.reduce((sum, figure) => sum + figure, 0);
const MICRO = 1_000_000;

/** Expects that each request has a root span, each attempt a span, and each span is within its parent. */
async function expectTraces(requests: number, attempts: number): Promise<void> {
  const ofKind = (kind: string) => collector.spans.filter((span) => span.kind === kind).length;
  // The spans of a trace may arrive in two batches.
  await waitFor(() => ofKind('server') === requests && ofKind('client') === attempts);
  const byId = new Map(collector.spans.map((span) => [span.spanId, span]));
  const isWithin = ({ kind, parentId, traceId, start, end }: ArrivedSpan): boolean => {
    const parent = byId.get(parentId);
    if (!parent) return kind === 'server' && parentId === '';
    return parent.traceId === traceId && parent.start <= start && start <= end && end <= parent.end;
  };
  expect(collector.spans.filter((span) => !isWithin(span))).toEqual([]);
}

/** What the log, metrics, records and journal say about all requests so far. */
interface Story {
  readonly told: readonly Line[];
  readonly page: string;
  readonly records: readonly DecisionOutcome[];
  /** The charge according to the journal, in microcredits. */
  readonly charged: number;
}

async function storyNow(): Promise<Story> {
  await waitFor(isIdle);
  const { reservations, faults } = await closedBooks(box.data);
  expect(faults).toEqual([]);
  const page = await pageText();
  // A request may end before it reaches the server, so the number of requests is taken from the log lines.
  const told = await waitFor(() =>
    lines().length >= total(readPage(page), 'signalbox_chats_total')! ? lines() : null,
  );
  const records = await waitFor(() => (outcomes().length >= reservations.size ? outcomes() : null));
  expect(records).toHaveLength(reservations.size);
  return { told, page, records, charged: sumOf([...reservations.values()].map((one) => one.charged)) };
}

function expectOneStory({ told, page: text, records, charged }: Story): void {
  const page = readPage(text);
  const of = (name: string, labels?: Readonly<Record<string, string>>) => total(page, name, labels) ?? 0;
  expect(new Set(told.map(({ request }) => request)).size).toBe(told.length);
  expect(of('signalbox_chats_total')).toBe(told.length);
  expect(of('signalbox_http_requests_total', ROUTE)).toBe(told.length);
  expect(of('signalbox_http_request_duration_seconds_count', ROUTE)).toBe(told.length);
  expect(of('signalbox_chat_duration_seconds_count')).toBe(records.length);
  for (const status of ['completed', 'failed', 'broken', 'abandoned'] as const) {
    const kept = records.filter((record) => record.status === status).length;
    const inLines = told.filter(({ outcome, credits }) => outcome === status && credits !== undefined).length;
    expect([status, inLines]).toEqual([status, kept]);
    expect([status, of('signalbox_chat_duration_seconds_count', { outcome: status })]).toEqual([status, kept]);
  }
  expect(sumOf(records.map((record) => record.charged))).toBe(charged);
  expect(Math.round(MICRO * of('signalbox_credits_spent_total'))).toBe(charged);
  expect(Math.round(MICRO * sumOf(told.map(({ credits = 0 }) => credits)))).toBe(charged);
  const saved = of('signalbox_credits_saved_total') - of('signalbox_credits_overspent_total');
  expect(Math.round(MICRO * saved)).toBe(sumOf(records.map((record) => record.saved)));
  const tokens = sumOf(records.map(({ usage }) => (usage ? usage.inputTokens + usage.outputTokens : 0)));
  expect(of('signalbox_tokens_total')).toBe(tokens);
  expect(of('signalbox_credits_reserved')).toBe(0);
}

/** Returns the same story in which each sample of a family is larger by this amount. */
const raised = (story: Story, family: string, by: number): Story => ({
  ...story,
  page: story.page.replace(
    new RegExp(`^(${family}(?:\\{.*\\})?) ([\\d.]+)$`, 'gm'),
    (_, name, value) => `${name} ${Number(value) + by}`,
  ),
});
const MUTANTS: Readonly<Record<string, (story: Story) => Story>> = {
  'a request had two lines': (story) => ({ ...story, told: [...story.told, story.told[0]!] }),
  'a request had no line': (story) => ({ ...story, told: story.told.slice(1) }),
  'a chat was counted twice': (story) => raised(story, 'signalbox_chats_total', 1),
  'the HTTP edge counted a request twice': (story) => raised(story, 'signalbox_http_requests_total', 1),
  'a token was counted twice': (story) => raised(story, 'signalbox_tokens_total', 1),
  'a microcredit was spent twice': (story) => raised(story, 'signalbox_credits_spent_total', 1 / MICRO),
  'a microcredit was saved twice': (story) => raised(story, 'signalbox_credits_saved_total', 1 / MICRO),
  'a record were lost': (story) => ({ ...story, records: story.records.slice(1) }),
  'a caller who disconnected was reported as answered': (story) => ({
    ...story,
    told: story.told.map((line) => (line.outcome === 'abandoned' ? { ...line, outcome: 'completed' } : line)),
  }),
};

test('log, metrics, records and journal agree on all requests', async () => {
  let asked = 0;
  const property = fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 12, size: 'max' }), async (script) => {
    run++;
    const together: Promise<void>[] = [];
    for (const each of script) {
      asked++;
      const over = ask(each);
      if (each.isAlone) await over;
      else together.push(over);
    }
    await Promise.all(together);
    const story = await storyNow();
    expectOneStory(story);
    await expectTraces(story.told.length, sumOf(story.records.map(({ attempts }) => attempts.length)));
  });
  await fc.assert(property, { seed, numRuns: runs, endOnFailure: true });
  proved(`${asked} requests that came and ended in every way`);
});

test.each(Object.entries(MUTANTS))('the law about log, metrics and records fails if %s', async (_, mutant) => {
  // Sends a request of each kind, whatever happened before.
  await ask({ way: 'whole', stream: false, name: null, model: 'plain', leaves: null, isAlone: true });
  await ask({ way: 'stuck', stream: true, name: null, model: 'best', leaves: 40, isAlone: true });
  const story = await storyNow();
  expectOneStory(story);
  expect(() => expectOneStory(mutant(story))).toThrow();
});
