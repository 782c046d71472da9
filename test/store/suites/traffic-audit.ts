import { expect } from 'bun:test';
import { idAt } from '../../../src/core/id.ts';
import type { LedgerBooks } from '../../../src/store/books.ts';
import type { JournalReader } from '../../../src/store/journal-reader.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  STEP_MS,
  TRAFFIC_KINDS,
  TRAFFIC_STEPS,
  type TrafficStep,
  type TrafficTable,
} from '../../../src/store/traffic.ts';
import type { Cases } from '../support.ts';
import { applied, fundOf, holdOf, NOON, settleOf } from './books.ts';

/** Books whose traffic is counted, and the cells, which anyone with access to the database can change. */
export interface AuditedTraffic extends AsyncDisposable {
  readonly books: LedgerBooks;
  readonly traffic: TrafficTable;
  readonly journal: Pick<JournalReader, 'wrongCells'>;
  readonly store: Pick<Store, 'flush'>;
  /** Runs a statement that both databases accept. */
  run(statement: string): Promise<unknown>;
}

const widthOf = (step: TrafficStep): number => STEP_MS[step] / STEP_MS.minute;
const total = TRAFFIC_KINDS.indexOf('total');
const { minute, hour, day } = STEP_MS;

/** Charges a request at each moment, and counts the charges. */
async function charge(
  { books, store, traffic }: AuditedTraffic,
  moments: readonly number[],
  now = NOON,
): Promise<void> {
  const fund = fundOf(1_000);
  for (const moment of moments) {
    const id = idAt(moment);
    await applied(books, holdOf(id, [fund], 50));
    await applied(books, settleOf(id, 7));
  }
  await store.flush();
  while (await traffic.count(now));
}

/** Returns what an audit finds: each bucket length and time once. */
async function wrongIn({ journal }: AuditedTraffic, now = NOON): Promise<readonly string[]> {
  const cells = await journal.wrongCells(now);
  return [...new Set(cells.map(({ step, time }) => `${step} ${(time - NOON) / minute}`))];
}

/** Returns what an audit finds after cells are deleted by hand. Restores the cells. */
async function wrongWithout(audited: AuditedTraffic, cells: string, now = NOON): Promise<readonly string[]> {
  await audited.run('CREATE TABLE saved AS SELECT * FROM traffic');
  await audited.run(`DELETE FROM traffic WHERE ${cells}`);
  const found = await wrongIn(audited, now);
  await audited.run('INSERT INTO traffic SELECT * FROM saved WHERE true ON CONFLICT DO NOTHING');
  await audited.run('DROP TABLE saved');
  return found;
}

/** The guarantees of an audit of traffic, by name. */
export const TRAFFIC_AUDIT_CASES: Cases<AuditedTraffic> = {
  'an audit finds the oldest cell of each length and dimension after it was deleted by hand': async (audited) => {
    await charge(audited, [NOON - day, NOON - hour, NOON]);
    expect(await wrongIn(audited)).toEqual([]);
    for (const step of TRAFFIC_STEPS) {
      for (const [kind, name] of TRAFFIC_KINDS.entries()) {
        const some = `width = ${widthOf(step)} AND kind = ${kind}`;
        const oldest = `${some} AND bucket = (SELECT min(bucket) FROM traffic WHERE ${some})`;
        const found = [`${step} ${step === 'day' ? -2_160 : -1_440}`];
        expect([name, await wrongWithout(audited, oldest)]).toEqual([name, found]);
      }
    }
    expect(await wrongIn(audited)).toEqual([]);
  },
  'an audit finds that all cells of one length, or all cells, were deleted by hand': async (audited) => {
    await charge(audited, [NOON - day, NOON]);
    expect(await wrongWithout(audited, 'width = 1')).toEqual(['minute -1440', 'minute 0']);
    expect(await wrongWithout(audited, 'width = 60')).toEqual(['hour -1440', 'hour 0']);
    expect(await wrongWithout(audited, 'width = 1440')).toEqual(['day -2160', 'day -720']);
    expect(await wrongWithout(audited, 'width > 0')).toHaveLength(6);
  },
  'after a server whose clock is ahead has deleted old cells, an audit finds only those that were deleted by hand':
    async (audited) => {
      await charge(audited, [NOON - day, NOON - hour, NOON]);
      await audited.traffic.prune(NOON + day + hour);
      expect(await wrongIn(audited)).toEqual([]);
      expect(await wrongWithout(audited, 'width = 1')).toEqual(['minute -60', 'minute 0']);
      expect(await wrongWithout(audited, 'width = 60')).toEqual(['hour -1440', 'hour -60', 'hour 0']);
    },
  'a clock that was years ahead hides no cell that is counted after the clock was corrected': async (audited) => {
    await charge(audited, [NOON - day, NOON]);
    await audited.traffic.prune(NOON + 3_650 * day);
    const later = NOON + day;
    await charge(audited, [later], later);
    expect(await wrongIn(audited, later)).toEqual([]);
    expect(await wrongWithout(audited, 'width > 0', later)).toEqual(['minute 1440', 'hour 1440', 'day 720']);
  },
  'an audit does not report cells that a server with a clock ahead left out, until they are counted again': async (
    audited,
  ) => {
    await charge(audited, [NOON - hour, NOON], NOON + 3 * day);
    expect(await wrongIn(audited)).toEqual([]);
    expect(await wrongWithout(audited, `width > 0 AND kind = ${total}`)).toEqual(['hour -60', 'hour 0', 'day -720']);
    expect(await audited.traffic.recount()).toBe(0);
    while (await audited.traffic.count(NOON));
    expect(await wrongIn(audited)).toEqual([]);
    expect(await wrongWithout(audited, 'width = 1')).toEqual(['minute -60', 'minute 0']);
  },
};
