import { expect, test } from 'bun:test';
import type { AlertDelivery, AlertMark, AlertMessage } from '../../../src/store/alerts.ts';
import { refusalOf, type TestedStore } from '../implementations.ts';

export const mark = (id: string, more: Partial<AlertMark> = {}): AlertMark => ({
  ...{ id, state: 'open', since: 5, until: 9, owner: { slot: 0, epoch: 1 } },
  ...more,
});

const delivery = (webhook: string, more: Partial<AlertDelivery> = {}): AlertDelivery => ({
  ...{ webhook, state: 'waiting', tries: 0, triedAt: null, nextAt: 5, problem: null },
  ...more,
});

export const message = (id: number, more: Partial<AlertMessage> = {}): AlertMessage => ({
  id,
  time: 5,
  content: {
    ...{ type: 'alert', rule: 'r', on: 'budget_share', lines: ['A “line”.'], more: 0 },
    subjects: [{ budget: 'b', share: 0.8, window_ends: null }],
  },
  deliveries: [delivery('ops'), delivery('slack')],
  owner: { slot: 0, epoch: 1 },
  ...more,
});

/** The guarantees of every table of alerts. */
export function alertSuite(open: () => Promise<TestedStore>): void {
  test('a mark is added once, and only a caller that saw its current state can change it', async () => {
    await using store = await open();
    const { alerts } = store;
    const [first, other] = [mark('a'), mark('a', { owner: { slot: 1, epoch: 1 } })];
    const make = (made: AlertMark, seen: AlertMark | null = null) =>
      refusalOf(store.commit([alerts.mark({ seen, mark: made })]));
    expect([await make(first), await make(other), await make(mark('b'))]).toEqual([null, 'unmet', null]);
    const closed = mark('a', { state: 'closed', until: 20 });
    expect([await make(closed, other), await make(closed, first), await make(closed, first)]).toEqual([
      'unmet',
      null,
      'unmet',
    ]);
    expect(await make(mark('c'), mark('c'))).toBe('unmet');
    expect(await alerts.marks()).toEqual([closed, mark('b')]);
  });

  test('a message is not stored if its mark is refused', async () => {
    await using store = await open();
    const { alerts } = store;
    await store.commit([alerts.mark({ seen: null, mark: mark('a') })]);
    const writes = [alerts.insert(message(1)), alerts.mark({ seen: null, mark: mark('a') })];
    expect(await refusalOf(store.commit(writes))).toBe('unmet');
    expect(await alerts.list({ before: null, limit: 9 })).toEqual([]);
  });

  test('a message waits until all of its deliveries have ended, and only its owner changes it', async () => {
    await using store = await open();
    const { alerts } = store;
    await store.commit([1, 2, 3].map((id) => alerts.insert(message(id))));
    const sent = delivery('ops', { state: 'sent', tries: 1, triedAt: 6 });
    const half = message(2, { deliveries: [sent, delivery('slack', { tries: 1, problem: 'why' })] });
    const whole = message(3, { deliveries: [sent, delivery('slack', { state: 'failed', tries: 5, problem: 'why' })] });
    const thief = { slot: 7, epoch: 1 };
    expect(await refusalOf(store.commit([alerts.update(half, thief)]))).toBe('unmet');
    await store.commit([alerts.update(half, half.owner), alerts.update(whole, whole.owner)]);
    expect(await alerts.waiting()).toEqual([message(1), half]);
    await store.commit([alerts.update({ ...half, owner: thief }, half.owner)]);
    expect(await refusalOf(store.commit([alerts.update(half, half.owner)]))).toBe('unmet');
    expect(await alerts.list({ before: 3, limit: 1 })).toEqual([{ ...half, owner: thief }]);
    expect((await alerts.list({ before: null, limit: 9 })).map(({ id }) => id)).toEqual([3, 2, 1]);
  });

  test('pruning deletes marks and messages that are over, and keeps open marks and waiting messages', async () => {
    await using store = await open();
    const { alerts } = store;
    const marks = [mark('a'), mark('b', { state: 'noted' }), mark('c', { state: 'closed', until: 10 })];
    const ended = { deliveries: [delivery('ops', { state: 'sent' })] };
    const messages = [message(1), message(2, ended), message(3, ended), message(4, ended)];
    await store.commit([...marks.map((one) => alerts.mark({ seen: null, mark: one })), ...messages.map(alerts.insert)]);
    await store.commit(alerts.prune(9, 1));
    expect((await alerts.marks()).map(({ id }) => id)).toEqual(['a', 'c']);
    expect((await alerts.list({ before: null, limit: 9 })).map(({ id }) => id)).toEqual([4, 1]);
  });
}
