import { expect, test } from 'bun:test';
import { listGuards } from '../../../src/admin/guards.ts';
import { countGuards } from '../../../src/admin/use-cases/guards.ts';
import { holderOf, Places } from '../../../src/admin/use-cases/places.ts';
import { operatorAs } from '../../../src/admin/use-cases/principal.ts';
import { FULL_SIGHT } from '../../../src/admin/use-cases/sight.ts';
import { idAt } from '../../../src/core/id.ts';
import { openInSqlite, type TestedStore } from '../../store/implementations.ts';
import { recordOf } from '../../store/suites/records.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
const PERIOD = { from: NOON - 1, to: NOON + 60_000 };
const BY = operatorAs({ kind: 'cli', name: 'a', from: null });
const ALL = { sight: FULL_SIGHT, rules: [] };

/** Adds records, of which each hundredth is of the model `rare`. */
async function addRecords(store: TestedStore, count: number): Promise<void> {
  const records = Array.from({ length: count }, (_, at) =>
    recordOf({ id: idAt(NOON) + at, time: NOON, model: at % 100 === 0 ? 'rare' : 'm', guards: [] }),
  );
  await store.commit(records.map((record) => store.records.log.add(record)));
  while (await store.records.log.index());
}

test('a count examines a limited number of records, also if few of them match', async () => {
  await using store = await openInSqlite();
  await addRecords(store, 300);
  const count = (most: number) =>
    countGuards(BY, store.records.log, { ...PERIOD, keyId: 'k', model: 'rare' }, { ...ALL, most });
  expect(await count(1_000)).toMatchObject({
    requests: 3,
    countedFrom: null,
    data: [{ requests: 3 }, { requests: 3 }],
  });
  const part = await count(150);
  expect(part.requests).toBe(1);
  expect(part.countedFrom).toBeGreaterThanOrEqual(NOON);
});

test('the server does other work between the pages of a count', async () => {
  await using store = await openInSqlite();
  await addRecords(store, 1_500);
  let isServed = false;
  setImmediate(() => {
    isServed = true;
  });
  expect(await countGuards(BY, store.records.log, PERIOD, ALL)).toMatchObject({ requests: 1_500 });
  expect(isServed).toBe(true);
});

test('a count that exceeds the limit of its caller is refused, and each count releases its slot', async () => {
  await using store = await openInSqlite();
  await addRecords(store, 1);
  const counts = new Places({ own: 1, all: 2, ownTaken: 'Yours is running.', allTaken: 'Two are running.' });
  const services = {
    records: store.records.log,
    sightOf: () => FULL_SIGHT,
    ownersOf: () => ({}),
    guards: () => [],
    usdPerCredit: () => '0.001',
    counts,
  };
  const count = async () =>
    listGuards.perform(services, { by: BY, now: NOON + 60_000, id: '', credentials: null, tags: null }, {});
  const leave = counts.enter(holderOf(BY.caller));
  await expect(count()).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  leave();
  expect(await count()).toBeDefined();
  expect(await count()).toBeDefined();
});
