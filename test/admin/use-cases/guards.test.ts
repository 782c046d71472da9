import { expect, test } from 'bun:test';
import { countGuards } from '../../../src/admin/use-cases/guards.ts';
import { operatorAs } from '../../../src/admin/use-cases/principal.ts';
import { FULL_SIGHT } from '../../../src/admin/use-cases/sight.ts';
import { idAt } from '../../../src/core/id.ts';
import { openInSqlite } from '../../store/implementations.ts';
import { recordOf } from '../../store/suites/records.ts';

const NOON = Date.UTC(2026, 10, 20, 12);

test('a count examines a limited number of records, also if few of them match', async () => {
  await using store = await openInSqlite();
  const records = Array.from({ length: 300 }, (_, at) =>
    recordOf({ id: idAt(NOON) + at, time: NOON, model: at % 100 === 0 ? 'rare' : 'm', guards: [] }),
  );
  await store.commit(records.map((record) => store.records.log.add(record)));
  while (await store.records.log.index());
  const count = async (most: number) => {
    const by = operatorAs({ kind: 'cli', name: 'a', from: null });
    const query = { from: NOON - 1, to: NOON + 60_000, keyId: 'k', model: 'rare' };
    return await countGuards(by, store.records.log, query, { sight: FULL_SIGHT, rules: [], most });
  };
  expect(await count(1_000)).toMatchObject({
    requests: 3,
    countedFrom: null,
    data: [{ requests: 3 }, { requests: 3 }],
  });
  const part = await count(150);
  expect(part.requests).toBe(1);
  expect(part.countedFrom).toBeGreaterThanOrEqual(NOON);
});
