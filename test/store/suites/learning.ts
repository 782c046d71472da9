import { expect, test } from 'bun:test';
import { idAt } from '../../../src/core/id.ts';
import type { OutcomeRow } from '../../../src/store/learning.ts';
import { refusalOf, type TestedStore } from '../implementations.ts';

const outcome = (id: number, more: Partial<OutcomeRow> = {}): OutcomeRow => ({
  ...{ id, decision: id, keyId: 'k', model: 'm', task: 'general', score: 1, declared: 0.5, label: null },
  ...more,
});

const idsOf = (rows: readonly { readonly id: number }[]) => rows.map(({ id }) => id);
const ALL = { after: 0, before: 100, keyId: null, model: null };

/** The guarantees of every store of scores. */
export function learningSuite(open: () => Promise<TestedStore>): void {
  test('a decision has one outcome; the store refuses a whole commit with a second outcome', async () => {
    await using store = await open();
    const { outcomes } = store.learning;
    await store.commit([outcomes.add(outcome(5, { decision: 1 }))]);
    const again = [outcomes.add(outcome(8)), outcomes.add(outcome(6, { decision: 1, score: 0 }))];
    expect(await refusalOf(store.commit(again))).toBe('unmet');
    expect(await outcomes.findScore(1)).toEqual(outcome(5, { decision: 1 }));
    expect(await outcomes.findScore(2)).toBeNull();
    expect(idsOf(await outcomes.list(ALL, 9))).toEqual([5]);
  });

  test('an outcome that arrives late gets an ID above all stored IDs, so that a reader of new IDs finds the outcome', async () => {
    await using store = await open();
    const { outcomes } = store.learning;
    await store.commit([outcomes.add(outcome(7))]);
    await store.commit([outcomes.add(outcome(5)), outcomes.add(outcome(6)), outcomes.add(outcome(20))]);
    const rows = await outcomes.list({ ...ALL, after: 7 }, 9);
    expect(rows.map(({ id, decision }) => [id, decision])).toEqual([
      [8, 5],
      [9, 6],
      [20, 20],
    ]);
  });

  test('outcomes are found in the order of their IDs, by key and model', async () => {
    await using store = await open();
    const { outcomes } = store.learning;
    await store.commit([
      outcomes.add(outcome(1)),
      outcomes.add(outcome(2)),
      outcomes.add(outcome(3, { model: 'n', keyId: 'other' })),
      outcomes.add(outcome(4)),
    ]);
    expect(idsOf(await outcomes.list(ALL, 2))).toEqual([1, 2]);
    expect(idsOf(await outcomes.list({ ...ALL, after: 1, before: 4 }, 9))).toEqual([2, 3]);
    expect(idsOf(await outcomes.list({ ...ALL, keyId: 'other' }, 9))).toEqual([3]);
    expect(idsOf(await outcomes.list({ ...ALL, model: 'm' }, 9))).toEqual([1, 2, 4]);
    expect(await outcomes.count()).toBe(4);
    expect(await outcomes.models()).toEqual(['m', 'n']);
    expect([await outcomes.prune(3), idsOf(await outcomes.list(ALL, 9))]).toEqual([2, [3, 4]]);
  });

  test('means include the scores, by model and task, since the last reset of the model or of all models', async () => {
    await using store = await open();
    const { outcomes, resets } = store.learning;
    const noon = Date.UTC(2026, 10, 20, 12);
    const at = (minute: number) => idAt(noon + minute * 60_000);
    await store.commit([
      outcomes.add(outcome(at(1), { score: 0 })),
      outcomes.add(outcome(at(2), { declared: 0.8 })),
      outcomes.add(outcome(at(4), { task: 'coding', score: 0.25 })),
      outcomes.add(outcome(at(6), { model: 'n', score: 0.75 })),
    ]);
    const coding = { model: 'm', task: 'coding', outcomes: 1, mean: 0.25, declared: 0.5 };
    const general = { model: 'm', task: 'general', outcomes: 2, mean: 0.5, declared: 0.65 };
    const other = { model: 'n', task: 'general', outcomes: 1, mean: 0.75, declared: 0.5 };
    expect(await outcomes.means()).toEqual([coding, general, other]);
    await store.commit([resets.add('m', noon + 3 * 60_000)]);
    expect(await outcomes.means()).toEqual([coding, other]);
    await store.commit([resets.add(null, noon + 5 * 60_000)]);
    expect(await outcomes.means()).toEqual([other]);
    await store.commit([resets.add('n', noon + 7 * 60_000)]);
    expect(await outcomes.means()).toEqual([]);
  });
}
