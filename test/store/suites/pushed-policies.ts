import { expect, test } from 'bun:test';
import type { PushedPolicy } from '../../../src/store/pushed-policies.ts';
import { refusalOf, type TestedStore } from '../implementations.ts';

export const push = (id: number, base = 0, more: Partial<PushedPolicy> = {}) => ({
  ...{ id, base, revision: `aaaa00000000000${id}`, source: `[{"path":"p.yaml","text":"# ${id}"}]`, time: 1_000 * id },
  plugins: [['./mine.ts', 'hash']] as const,
  ...more,
});
const accepted = (id: number, base = 0) => ({ ...push(id, base), revision: `b${id}`, state: 'accepted', reason: null });

/** The guarantees of every table of pushed policies. */
export function pushedPolicySuite(open: () => Promise<TestedStore>): void {
  test('a revision is offered before it is active; only one at a time, and only to replace the active one', async () => {
    await using store = await open();
    const { pushedPolicies: table } = store;
    const committed = (...writes: Parameters<typeof store.commit>[0]) => refusalOf(store.commit(writes));
    expect([await table.head(), await table.offered(), await table.list(5)]).toEqual([null, null, []]);
    expect(await committed(table.offer(push(1)))).toBeNull();
    expect(await table.offered()).toEqual({ ...push(1), state: 'offered', reason: null } as PushedPolicy);
    expect(await committed(table.offer(push(2)))).toBe('unmet');
    expect([await committed(table.accept(1, 'b1')), await committed(table.accept(1, 'b1'))]).toEqual([null, 'unmet']);
    expect([await table.head(), await table.offered()]).toEqual([accepted(1) as PushedPolicy, null]);
    // The first refused offer has another base, and the second has a number that is taken.
    expect(await committed(table.offer(push(2)))).toBe('unmet');
    expect(await committed(table.offer(push(1, 1)))).toBe('unmet');
    expect(await committed(table.offer(push(2, 1)), table.refuse(2, 'no plugin'))).toBeNull();
    expect(await table.head()).toEqual(accepted(1) as PushedPolicy);
    expect(await table.find(2)).toMatchObject({ state: 'refused', reason: 'no plugin' });
    expect(await committed(table.accept(2, 'b2'))).toBe('unmet');
    expect(await committed(table.offer(push(3, 1)), table.accept(3, 'b3'))).toBeNull();
    expect((await table.list(2)).map(({ id, state }) => [id, state])).toEqual([
      [3, 'accepted'],
      [2, 'refused'],
    ]);
    const { source: _, plugins: __, ...entry } = accepted(1);
    expect(await table.list(2, 2)).toEqual([entry as PushedPolicy]);
  });

  test('an offer whose creator has ended expires, and old revisions are deleted except the active one', async () => {
    await using store = await open();
    const { pushedPolicies: table } = store;
    await store.commit([table.offer(push(1)), table.accept(1, 'b1')]);
    await store.commit([table.offer(push(2, 1))]);
    await store.commit([table.expire(2_000, 'late')]);
    expect(await table.offered()).toMatchObject({ id: 2 });
    await store.commit([table.expire(2_001, 'late'), table.offer(push(3, 1))]);
    expect([await table.find(2), await table.offered()]).toMatchObject([{ reason: 'late' }, { id: 3 }]);
    await store.commit([table.forget(2)]);
    expect((await table.list(9)).map(({ id }) => id)).toEqual([3, 1]);
  });

  test('each step of a policy push notifies listeners of the policy', async () => {
    await using store = await open();
    const { pushedPolicies: table, news } = store;
    let heard = 0;
    news.on('policy', () => void heard++);
    await news.look();
    for (const step of [table.offer(push(1)), table.accept(1, 'b1')]) {
      const before = heard;
      await store.commit([step]);
      await news.look();
      expect(heard).toBeGreaterThan(before);
    }
  });
}
