import { expect, test } from 'bun:test';
import type { DecisionOutcome } from '../../../../src/core/decision/outcome.ts';
import { timeOfId } from '../../../../src/core/id.ts';
import { postgresRecords } from '../../../../src/store/postgres/records.ts';
import { postgresTraffic } from '../../../../src/store/postgres/traffic.ts';
import type { SqlWrite } from '../../../../src/store/sql/statement.ts';
import { STEP_MS } from '../../../../src/store/traffic.ts';
import { record } from '../../../gateway/records/support.ts';
import { emptyLedger, openBooksOn } from '../../../store/postgres/stage.ts';
import { fundOf, holdOf, nextId, settleOf } from '../../../store/suites/books.ts';

const [REQUESTS, COST] = [120, 7];
const OUTCOME: DecisionOutcome = {
  ...{ status: 'completed', error: null, attempts: [], usage: null, estimated: false, charged: COST, saved: 0 },
  ...{ firstPartMs: null, totalMs: 10, cappedBy: null, usageReplaced: false },
};

test('while two instances book and record and two others count, traffic has every request and every reported microcredit once', async () => {
  await using ledger = await emptyLedger();
  const opened = [await openBooksOn(ledger, 1), await openBooksOn(ledger, 2)] as const;
  const counters = opened.map(() => postgresTraffic(ledger.store, { size: { records: 9, entries: 9 }, waitMs: 10 }));
  const { log } = postgresRecords(ledger.store);
  const fund = fundOf(REQUESTS * COST);
  const ids = Array.from({ length: REQUESTS }, nextId);
  const now = timeOfId(ids.at(-1)!);
  let told = 0;
  const request = async (id: number, at: number) => {
    const { books } = opened[at % 2]!;
    await books.apply([holdOf(id, [fund], COST)]);
    const made = record(id, timeOfId(id), { keyId: `key${at % 3}`, outcome: OUTCOME });
    const writes = at % 4 ? [log.add(made)] : [];
    const [settled] = await books.append([settleOf(id, COST)], () => ({ ops: [], writes }));
    if (settled?.kind === 'charged') told += settled.charged;
    // The store writes some records after their charge.
    if (writes.length === 0) await ledger.store.commit([log.add(made) as SqlWrite]);
  };
  let isOver = false;
  const counting = counters.map(async (traffic) => {
    while (!isOver) await traffic.count(now);
    while (await traffic.count(now));
  });
  try {
    await Promise.all(ids.map(request));
    isOver = true;
    await Promise.all(counting);
    // Count until the work that was in progress at the last count is included.
    while (await counters[0]!.count(now));
    const day = { step: 'day', from: 0, to: now + STEP_MS.day, series: null } as const;
    const [total] = await counters[1]!.sums({ ...day, kind: 'total' });
    expect([total?.requests, total?.microcredits, told]).toEqual([REQUESTS, REQUESTS * COST, REQUESTS * COST]);
    const byStatus = await counters[1]!.sums({ ...day, kind: 'status' });
    const spent = byStatus.filter(({ microcredits }) => microcredits !== 0);
    expect(spent.map(({ series, microcredits }) => [series, microcredits])).toEqual([['completed', told]]);
  } finally {
    isOver = true;
    for (const { close } of opened) await close();
  }
});
