import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { addressOf } from '../../../../src/store/postgres/address.ts';
import { Connection } from '../../../../src/store/postgres/connection.ts';
import { PostgresRates } from '../../../../src/store/postgres/rates.ts';
import { type RateDemand, type RateGrant, rateOrder } from '../../../../src/store/rates.ts';
import { effort } from '../../../deep/effort.ts';
import { MemoryRates } from '../../../store/memory/rates.ts';
import { demand, demands } from '../../../store/rate-demands.ts';
import { laidDatabase } from '../../../support/shared-postgres.ts';

/**
 * A function of the database implements the rules of shared limits. The in-memory store, against which the laws of instances run, has the
 * same rules.
 */
const { runs, seed, proved } = effort('postgres', 40, 2_000);

let database: Awaited<ReturnType<typeof laidDatabase>>;
let connection: Connection;
const stores: PostgresRates[] = [];

beforeAll(async () => {
  database = await laidDatabase();
  connection = await Connection.open(addressOf(database.url));
});
afterAll(async () => {
  for (const store of stores) await store.close();
  await connection.close();
  await database[Symbol.asyncDispose]();
});

function storeOf(slot: number, epoch = 1): PostgresRates {
  const store = new PostgresRates(
    () => Connection.open(addressOf(database.url)),
    () => ({ slot, epoch }),
    Date.now,
  );
  stores.push(store);
  return store;
}

const histories = fc.array(
  fc.record({
    slot: fc.nat(1),
    ms: fc.oneof(fc.nat(400), fc.nat(3_000), fc.nat(70_000)),
    demands,
  }),
  { minLength: 1, maxLength: 12 },
);

let worlds = 0;

const alike = fc.asyncProperty(histories, async (history) => {
  const subject = `world ${++worlds}`;
  let now = 1_700_000_000_000;
  const memory = new MemoryRates(
    () => now,
    () => true,
  );
  for (const { slot, ms, demands } of history) {
    now += ms;
    const asked = demands.map((one) => demand({ ...one, subject })).sort(rateOrder);
    const rows = asked.map((one) => [one.limit, subject, one.unit, one.most, one.need, one.ahead, one.back, one.held]);
    const values = [slot, 1, JSON.stringify(rows), now];
    const found = await connection.run<{ answers: string }>(
      'SELECT rates_take_1($1, $2, $3::jsonb, $4) AS answers',
      values,
    );
    const grants = memory.take({ slot, epoch: 1 }, asked);
    const expected = grants.map(({ granted, ahead, left }) => [granted, ahead, left]);
    if (!Bun.deepEquals(JSON.parse(found.rows[0]!.answers), expected)) return false;
  }
  return true;
});

describe('Shared limits in PostgreSQL', () => {
  test('give the same decisions as in memory', async () => {
    await fc.assert(alike, { numRuns: runs, seed });
    proved('the database decides shared limits as the store in memory does');
  });

  test('are granted once when several instances request them at once, in any order of limits', async () => {
    const instances = [storeOf(0), storeOf(1), storeOf(2)];
    const granted = { 'rule one': 0, 'rule two': 0 };
    await Promise.all(
      instances.flatMap((store) =>
        Array.from({ length: 40 }, async () => {
          const asked = ['rule one', 'rule two'].map((limit) =>
            demand({ limit, subject: 'at once', most: 1, need: 1 }),
          );
          const grants = await store.take(asked);
          granted['rule one'] += grants[0]!.granted;
          granted['rule two'] += grants[1]!.granted;
        }),
      ),
    );
    // On a slow machine, one more request passes each minute.
    for (const count of Object.values(granted)) expect([1, 2]).toContain(count);
  });

  test('on streams are free again once the lease of their instance has ended', async () => {
    const [one, other] = [storeOf(3), storeOf(4)];
    const streams = (more: Partial<RateDemand>) => [demand({ unit: 'streams', subject: 'dead', most: 2, ...more })];
    const lease = (until: number) =>
      connection.run(
        `INSERT INTO instances (slot, epoch, until, ids_through, is_released) VALUES (3, 1, $1, 0, 0)
          ON CONFLICT (slot) DO UPDATE SET until = excluded.until`,
        [until],
      );
    await lease(Date.now() + 1_000_000);
    expect((await one.take(streams({ need: 3 })))[0]).toMatchObject({ granted: 2 });
    expect((await other.take(streams({ need: 1 })))[0]).toMatchObject({ granted: 0, left: 0 });
    await lease(Date.now() - 1);
    expect((await other.take(streams({ need: 1 })))[0]).toMatchObject({ granted: 1, left: 1 });
  });

  test('survive a lost connection, accept any text, and are pruned once they no longer matter', async () => {
    const store = storeOf(5);
    const odd = demand({ subject: 'a\0\ud800b', most: 600, need: 1 });
    expect(await store.take([odd])).toEqual([{ granted: 1, ahead: 0, left: 599 * 60_000 }] satisfies RateGrant[]);
    await connection.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE query LIKE 'SELECT rates_take_1%' AND pid <> pg_backend_pid()`);
    const again = async (): Promise<readonly RateGrant[]> => store.take([odd]).catch(again);
    expect((await again())[0]).toMatchObject({ granted: 1 });
    const rows = async () =>
      (await connection.run(`SELECT 1 FROM rates WHERE subject LIKE 'a%b' OR subject = 'old'`)).rows.length;
    await store.take([demand({ subject: 'old', need: 1 })]);
    await connection.run(`UPDATE rates SET at = at - 1000000 WHERE subject = 'old'`);
    expect(await rows()).toBe(2);
    await store.prune();
    expect(await rows()).toBe(1);
  });
});
