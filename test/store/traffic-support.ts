import { setImmediate } from 'node:timers/promises';
import type { SqlTables } from '../../src/store/sql/statement.ts';
import {
  labelSeries,
  STEP_MS,
  TRAFFIC_FIGURES,
  TRAFFIC_KINDS,
  TRAFFIC_STEPS,
  type TrafficTable,
} from '../../src/store/traffic.ts';

/** Returns a store in which other tasks run before each read, as if another process counted at the same time. */
export const pausing = (db: SqlTables): SqlTables => ({
  async query(statement, params) {
    await setImmediate();
    return db.query(statement, params);
  },
  commit: (writes) => db.commit(writes),
});

/** Series of several kinds; some of them never exist. */
const SOME_SERIES = ['key1', 'key2 b', 'red', 'robin', labelSeries('use', 'chat'), 'nobody'];

/**
 * Returns the sums of every series and every bucket that is not empty, ordered by name.
 * @param now ms since 1970; minute buckets cover the two days before it
 */
export async function toldBuckets(traffic: TrafficTable, now: number): Promise<string[]> {
  const told: string[] = [];
  for (const step of TRAFFIC_STEPS) {
    const from = step === 'minute' ? now - 2 * STEP_MS.day : 0;
    for (const kind of TRAFFIC_KINDS) {
      const query = { step, kind, from, to: now + STEP_MS.day };
      for (const of of [null, SOME_SERIES]) {
        for (const { series, ...figures } of await traffic.sums({ ...query, series: of })) {
          const sums = TRAFFIC_FIGURES.map((name) => figures[name]);
          if (sums.some((sum) => sum !== 0)) told.push(JSON.stringify(['sums', step, kind, of, series, sums]));
        }
      }
      for (const bucket of await traffic.buckets({ ...query, series: null })) {
        const { time, series, figures, ttft, duration } = bucket;
        const sums = TRAFFIC_FIGURES.map((name) => figures[name]);
        if (sums.every((sum) => sum === 0)) continue;
        told.push(JSON.stringify([step, kind, time, series, sums, [...ttft.encode()], [...duration.encode()]]));
      }
    }
  }
  return told.sort();
}
