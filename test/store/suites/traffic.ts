import { expect, test } from 'bun:test';
import type { DecisionOutcome } from '../../../src/core/decision/outcome.ts';
import { idAt } from '../../../src/core/id.ts';
import type { Repositories } from '../../../src/store/repositories.ts';
import type { Store } from '../../../src/store/store.ts';
import { SERIES_MAX, STEP_MS } from '../../../src/store/traffic.ts';
import { record } from '../../gateway/records/support.ts';

export const NOON = Date.UTC(2026, 10, 20, 12);
const outcome: DecisionOutcome = {
  ...{ status: 'completed', error: null, attempts: [], usage: null, estimated: false, charged: 0, saved: 2 },
  ...{ firstPartMs: null, totalMs: 10, cappedBy: null, usageReplaced: false },
};
/** Makes a record of a moment. */
export const made = (at: number, keyId: string, more = {}) => record(idAt(at), at, { keyId, outcome, ...more });
const day = { step: 'day', from: NOON - 3 * STEP_MS.day, to: NOON + STEP_MS.day } as const;

type CountedStore = Pick<Store, 'commit'> & Pick<Repositories, 'records' | 'traffic'> & AsyncDisposable;

/** Tests of counting in batches. The laws of traffic check the sums and times. */
export function trafficSuite(open: () => Promise<CountedStore>): void {
  test('a day has a limited number of named series of a dimension and one series for the rest; the next day begins again', async () => {
    await using store = await open();
    const keys = Array.from({ length: SERIES_MAX + 5 }, (_, at) => `key${at}`);
    await store.commit(keys.map((key, at) => store.records.log.add(made(NOON - STEP_MS.day + at, key))));
    while (await store.traffic.count(NOON));
    await store.commit([
      store.records.log.add(made(NOON, keys.at(-1)!)),
      store.records.log.add(made(NOON + 1, 'key0')),
    ]);
    while (await store.traffic.count(NOON));
    const buckets = await store.traffic.buckets({ ...day, kind: 'key', series: null });
    const before = buckets.filter(({ time }) => time < NOON - STEP_MS.day / 2);
    expect(before).toHaveLength(SERIES_MAX + 1);
    expect(before.find(({ series }) => series === null)?.figures).toMatchObject({ requests: 5, saved: 10 });
    const after = buckets.filter(({ time }) => time >= NOON - STEP_MS.day / 2);
    expect(after.map(({ series }) => series).sort()).toEqual(['key0', keys.at(-1)!]);
    expect((await store.traffic.modelsOf('key0'))[0]).toBe('key0 model-a');
  });

  test('buckets are kept by their length: minutes for two days, hours for three months, days for years', async () => {
    await using store = await open();
    const minutes = Array.from({ length: 1_000 }, (_, at) => NOON - STEP_MS.day + at * STEP_MS.minute);
    await store.commit(minutes.map((at) => store.records.log.add(made(at, 'key'))));
    while (await store.traffic.count(NOON));
    const ofDays = async () => (await store.traffic.sums({ ...day, kind: 'total', series: null }))[0]?.requests;
    const firstAt = async () => (await store.traffic.progress()).firstAt;
    const firstOf = (ms: number) => Math.floor(minutes[0]! / ms) * ms;
    expect([await firstAt(), await ofDays()]).toEqual([firstOf(STEP_MS.minute), 1_000]);
    await store.traffic.prune(NOON + 4 * STEP_MS.day);
    expect([await firstAt(), await ofDays()]).toEqual([firstOf(STEP_MS.hour), 1_000]);
    expect(await store.traffic.buckets({ ...day, step: 'minute', kind: 'total', series: null })).toEqual([]);
    await store.traffic.prune(NOON + 200 * STEP_MS.day);
    expect([await firstAt(), await ofDays()]).toEqual([firstOf(STEP_MS.day), 1_000]);
    expect(await store.traffic.progress()).toMatchObject({ freshFrom: null, pastBefore: null });
  });
}
