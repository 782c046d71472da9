import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { answerHere } from '../../../src/gateway/request/own-answer.ts';
import type { Step } from '../../../src/gateway/request/steps.ts';
import { waitFor } from '../../support/answers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { contentOf, send, startWith, WAYS } from './served.ts';

const tariff = { model: 'best', provider: 'signalbox', upstream: 'kept', price: '{}' };

/** Answers every question from memory at a price, in microcredits. */
const answerAt =
  (price: number): Step =>
  (served) =>
    answerHere(served, {
      reason: 'kept:exact',
      model: 'best',
      parts: [
        { type: 'text', choice: 0, text: 'From memory.' },
        { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' },
        { type: 'usage', usage: plainUsage(7, 3) },
      ],
      usage: plainUsage(7, 3),
      price,
      tariff,
    });

const upstream = useUpstream();
const BUDGET = 'budgets: [{ name: all, limit_credits: 1, window: day }]\n';

describe.each([
  ['at no price', 0],
  ['at a price', 250_000],
])('a step that answers by itself %s', (_, price) => {
  let box: Signalbox;
  beforeAll(async () => {
    box = await startWith(upstream.url, { beforeDecision: [answerAt(price)] });
  });
  afterAll(() => box.stop());

  test.each(WAYS)('answers without a model, with a receipt, a record and a log line: %s', async (__, way) => {
    const calls = upstream.requests.length;
    const answered = await send(way, box, 'Say hello.');
    const decision = answered.headers.get('x-signalbox-decision-id')!;
    const { text, platform, finish } = await contentOf(way, answered);
    expect([text, finish, platform?.credits_consumed, platform?.route_reason]).toEqual([
      ...['From memory.', 'stop'],
      price / 1_000_000,
      'kept:exact',
    ]);
    expect(upstream.requests.length).toBe(calls);
    const record = (await (await box.get(`/v1/decisions/${decision}`)).json()) as Record<string, unknown>;
    expect(record).toMatchObject({ id: decision });
    expect(JSON.stringify(record)).toContain('kept:exact');
    const line = await waitFor(() => box.lines.find((one) => one.includes(decision)));
    expect(JSON.parse(line)).toMatchObject({ status: 200, credits: price / 1_000_000, outcome: 'completed' });
  });

  test('is entered in the ledger, and the audit finds nothing', async () => {
    const before = await usageOf(box);
    await send(WAYS[0]![1], box, 'Say hello.');
    const after = await usageOf(box);
    expect(after.credits - before.credits).toBeCloseTo(price / 1_000_000, 6);
    expect(await box.run('ledger', 'audit')).toMatchObject({ code: 0 });
  });

  test('is stored for repeats of its name', async () => {
    const named = { 'idempotency-key': `kept-${price}` };
    const [, way] = WAYS[0]!;
    const first = await send(way, box, 'Say hello.', named);
    expect(first.status).toBe(200);
    await first.text();
    const again = await send(way, box, 'Say hello.', named);
    expect(again.headers.get('x-signalbox-replayed')).toBe('true');
    expect((await contentOf(way, again)).text).toBe('From memory.');
  });
});

async function usageOf(box: Signalbox): Promise<{ credits: number }> {
  const body = (await (await box.get('/v1/usage')).json()) as { total_credits: number };
  return { credits: body.total_credits };
}

test('an answer at a price is refused with 402 once its budget is spent, and an answer at no price is not', async () => {
  const [, way] = WAYS[0]!;
  const paid = await startWith(upstream.url, { beforeDecision: [answerAt(400_000)] }, BUDGET);
  const free = await startWith(upstream.url, { beforeDecision: [answerAt(0)] }, BUDGET.replace('1,', '0.000001,'));
  try {
    const statuses: number[] = [];
    for (let round = 0; round < 4; round++) statuses.push((await send(way, paid, 'Say hello.')).status);
    expect(statuses).toEqual([200, 200, 402, 402]);
    expect((await send(way, free, 'Say hello.')).status).toBe(200);
  } finally {
    await Promise.all([paid.stop(), free.stop()]);
  }
});
