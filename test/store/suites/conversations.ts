import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  CONVERSATION_MS,
  type ConversationSignal,
  type ConversationTable,
  hasPlace,
  type SeenConversation,
} from '../../../src/store/conversations.ts';
import { isUnmet } from '../../../src/store/store.ts';
import type { TestedStore } from '../implementations.ts';
import { keyInfo } from './access.ts';

const NOW = 10 * CONVERSATION_MS;

export const answered = (conversation: string, more: Partial<SeenConversation> = {}): SeenConversation => ({
  ...{ conversation, keyId: 'k', seen: NOW, prompt: null },
  ...more,
});

export const signalled = (conversation: string, more: Partial<ConversationSignal> = {}): ConversationSignal => ({
  ...{ conversation, keyId: 'k', seen: NOW, answers: 1, signal: 'correction' },
  ...more,
});

const all = ({ conversations }: Pick<TestedStore, 'conversations'>) => conversations.since(0, 99);

/** Gives a conversation a place. @returns whether there was one */
export const escalated = async (
  store: Pick<TestedStore, 'commit'> & { readonly conversations: Pick<ConversationTable, 'escalate'> },
  conversation: string,
  share: number,
  { keyId = 'k', seen = NOW } = {},
): Promise<boolean> => {
  try {
    await store.commit([store.conversations.escalate({ conversation, keyId, seen }, share)]);
    return true;
  } catch (cause) {
    if (isUnmet(cause)) return false;
    throw cause;
  }
};

/** The guarantees of every table of conversations. */
export function conversationSuite(open: () => Promise<TestedStore>): void {
  test('a conversation keeps its last question, its latest signal and its place until it has ended', async () => {
    await using store = await open();
    const { conversations } = store;
    await store.commit([conversations.see(answered('c', { seen: NOW, prompt: 'p' }))]);
    await store.commit([conversations.signal(signalled('c', { seen: NOW + 1, answers: 3 }))]);
    expect(await escalated(store, 'c', 0.5, { seen: NOW + 2 })).toBe(true);
    await store.commit([conversations.see(answered('c', { seen: NOW + 3 }))]);
    const row = { conversation: 'c', keyId: 'k', seen: NOW + 3, prompt: 'p', promptAt: NOW };
    expect(await all(store)).toEqual([{ ...row, signal: 'correction', answers: 3, isEscalated: true }]);
    const later = NOW + 3 + CONVERSATION_MS;
    await store.commit([conversations.see(answered('c', { seen: later, prompt: 'q' }))]);
    expect(await all(store)).toMatchObject([
      { seen: later, prompt: 'q', promptAt: later, signal: null, isEscalated: false },
    ]);
  });

  test('several answers of one commit are all noted, also of one conversation', async () => {
    await using store = await open();
    const { conversations } = store;
    const rows = [answered('c', { prompt: 'p' }), answered('d', { seen: NOW + 1 }), answered('c', { seen: NOW + 2 })];
    await store.commit(rows.map((row) => conversations.see(row)));
    const found = (await all(store)).map(({ conversation, prompt }) => [conversation, prompt]);
    expect(found.toSorted()).toEqual([
      ['c', 'p'],
      ['d', null],
    ]);
  });

  test('only rows that changed after a time are read, the newest first', async () => {
    await using store = await open();
    const { conversations } = store;
    for (const [name, seen] of [['c', 5] as const, ['d', 7] as const, ['e', 6] as const])
      await store.commit([conversations.see(answered(name, { seen }))]);
    expect((await conversations.since(5, 9)).map((row) => row.conversation)).toEqual(['d', 'e']);
    expect((await conversations.since(0, 1)).map((row) => row.conversation)).toEqual(['d']);
    expect(await conversations.prune(6)).toBe(2);
    expect((await all(store)).map((row) => row.conversation)).toEqual(['d']);
  });

  test('a key has one escalated conversation, and no more of them than its share', async () => {
    await using store = await open();
    const { conversations } = store;
    expect(await escalated(store, 'first', 0)).toBe(true);
    expect(await escalated(store, 'second', 0.5)).toBe(false);
    expect(await escalated(store, 'first', 0)).toBe(true);
    expect(await escalated(store, 'of-another', 0, { keyId: 'l' })).toBe(true);
    for (const name of ['second', 'third', 'fourth']) await store.commit([conversations.see(answered(name))]);
    expect(await escalated(store, 'second', 0.49)).toBe(false);
    expect(await escalated(store, 'second', 0.5)).toBe(true);
    const placeAt = (conversation: string, seen: number) => conversations.place({ conversation, keyId: 'k', seen });
    const share = { escalated: 2, conversations: 4 };
    expect(await placeAt('second', NOW)).toEqual({ isEscalated: true, share });
    expect(await placeAt('third', NOW)).toEqual({ isEscalated: false, share });
    const ended = { isEscalated: false, share: { escalated: 0, conversations: 0 } };
    expect(await placeAt('second', NOW + CONVERSATION_MS)).toEqual(ended);
    expect(await escalated(store, 'third', 0, { seen: NOW + CONVERSATION_MS })).toBe(true);
  });

  test('revoking a key deletes its conversations, and none are stored for a revoked key', async () => {
    await using store = await open();
    const { conversations, keys } = store;
    await store.commit([keys.insert(keyInfo('k'), new Uint8Array(32))]);
    await store.commit([conversations.see(answered('c')), conversations.see(answered('d', { keyId: 'l' }))]);
    await store.commit([keys.revoke('k', 6)]);
    await store.commit([conversations.see(answered('e'))]);
    expect((await all(store)).map((row) => row.conversation)).toEqual(['d']);
  });

  test('the share holds in every interleaving of conversations that end and ask for a place', async () => {
    await using store = await open();
    await fc.assert(shareLaw(store), { numRuns: 15 });
  });
}

type Step = readonly [kind: 'see' | 'ask', conversation: string, minutes: number];
/** Conversations end in the last of these times. */
const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom('see', 'ask', 'ask'),
  fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
  fc.constantFrom(0, 0, 0, 1, 40, 61),
);

/** The tables that the law of the share uses. */
export type ShareTables = Pick<TestedStore, 'commit'> & {
  readonly conversations: Pick<ConversationTable, 'see' | 'escalate'>;
};

let runs = 0;

/**
 * The law: a conversation gets a place only if the share then still holds, whatever asks at the same time, and one that has a place keeps
 * it until it ends.
 */
export const shareLaw = (...stores: readonly ShareTables[]) =>
  fc.asyncProperty(
    fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { maxLength: 8 }),
    fc.constantFrom(0, 0.2, 0.34, 0.5, 1),
    async (groups, share) => {
      const keyId = `key-${runs++}`;
      let now = NOW;
      const seen = new Map<string, number>();
      const places = new Map<string, number>();
      const isOpen = (times: Map<string, number>, name: string) => (times.get(name) ?? 0) > now - CONVERSATION_MS;
      for (const group of groups) {
        now += Math.max(...group.map(([, , minutes]) => minutes)) * 60_000;
        const granted = await Promise.all(
          group.map(async ([kind, name], at) => {
            const store = stores[at % stores.length]!;
            const row = { conversation: `${keyId} ${name}`, keyId, seen: now };
            if (kind === 'ask') return escalated(store, row.conversation, share, row);
            await store.commit([store.conversations.see({ ...row, prompt: null })]);
            return false;
          }),
        );
        const held = new Set([...places.keys()].filter((name) => isOpen(places, name) && isOpen(seen, name)));
        for (const [at, [kind, name]] of group.entries()) {
          if (kind === 'see' || granted[at]) seen.set(name, now);
          if (kind === 'ask' && held.has(name) && !granted[at]) return false;
          if (granted[at] || held.has(name)) places.set(name, now);
        }
        const open = [...seen.keys()].filter((name) => isOpen(seen, name)).length;
        const has = [...places.keys()].filter((name) => isOpen(places, name) && isOpen(seen, name));
        const isGrown = has.some((name) => !held.has(name));
        if (isGrown && !hasPlace({ escalated: has.length - 1, conversations: open }, share)) return false;
      }
      return true;
    },
  );
