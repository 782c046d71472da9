import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ConversationTable, hasPlace } from '../../src/store/conversations.ts';
import { StoreError } from '../../src/store/store.ts';
import { isDeep, seedOf } from '../deep/effort.ts';
import { openInMemory, type TestedStore } from './implementations.ts';
import { type ShareTables, shareLaw } from './suites/conversations.ts';

/** A store whose `escalate` asks `isAllowed` first and then takes the place in any case. */
function asking(
  store: TestedStore,
  isAllowed: (row: Parameters<ConversationTable['escalate']>[0], share: number) => Promise<boolean> | boolean,
): ShareTables {
  const asked = new Map<object, () => Promise<boolean> | boolean>();
  return {
    async commit(writes) {
      for (const one of writes) {
        if (!(await (asked.get(one)?.() ?? true))) throw new StoreError('no place', { reason: 'unmet' });
      }
      await store.commit(writes);
    },
    conversations: {
      see: (row) => store.conversations.see(row),
      escalate(row, share) {
        const taken = store.conversations.escalate(row, 1_000);
        asked.set(taken, () => isAllowed(row, share));
        return taken;
      },
    },
  };
}

const FLAWS: Readonly<Record<string, (store: TestedStore) => ShareTables>> = {
  'counts before it writes, in two steps': (store) =>
    asking(store, async (row, share) => {
      const place = await store.conversations.place(row);
      return place.isEscalated || hasPlace(place.share, share);
    }),
  'allows one too many': (store) =>
    asking(store, async (row, share) => {
      const { escalated, conversations } = (await store.conversations.place(row)).share;
      return hasPlace({ escalated: Math.max(0, escalated - 1), conversations }, share);
    }),
  'refuses a conversation that has a place': (store) =>
    asking(store, async (row, share) => hasPlace((await store.conversations.place(row)).share, share)),
};

for (const [name, flaw] of Object.entries(FLAWS))
  test(`the law of the share detects a store that ${name}`, async () => {
    await using store = await openInMemory();
    const { failed } = await fc.check(shareLaw(flaw(store)), {
      numRuns: 300,
      seed: seedOf('share'),
      endOnFailure: true,
    });
    expect(failed).toBe(true);
  });

test('the law of the share holds', async () => {
  await using store = await openInMemory();
  await fc.assert(shareLaw(store, store), { numRuns: isDeep ? 2_000 : 100, seed: seedOf('share') });
});
