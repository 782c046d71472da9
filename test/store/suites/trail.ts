import { expect, test } from 'bun:test';
import { checkTrail } from '../../../src/admin/use-cases/trail-check.ts';
import type { Actor, TrailQuery } from '../../../src/store/trail.ts';
import { refusalOf, type TestedStore } from '../implementations.ts';
import { keyEvent, keyInfo, subjectEvent } from './access.ts';

const NOON = Date.UTC(2026, 10, 21, 12);
const ALICE = { kind: 'cli', name: 'alice', from: 'alice' } as const;
const BOB = { kind: 'key', name: 'b0b', requestId: 'req_1', from: '203.0.113.7' } as const;
const ROWS = { rows: 99, chars: 1_000_000 };
const ALL = { keyId: null, limit: 99 };

const entry = (id: string, actor: Actor, note: string, time = NOON) =>
  subjectEvent({ ...keyEvent(id, 'grant', time), actor, details: { credits: 1, note } });

/** The guarantees of every store's audit trail. */
export function trailSuite(open: () => Promise<TestedStore>): void {
  const faultsIn = async ({ trail }: TestedStore) => (await checkTrail(trail, [])).faults;

  test('entries of concurrent commits, and of many keys in one commit, form one chain', async () => {
    await using store = await open();
    const { keys, trail } = store;
    const own = ['a', 'b', 'c'].map((id) => keys.insert(keyInfo(id, { holder: '0xa' }), new Uint8Array(32)));
    await store.commit(own);
    const refused = store.commit([trail.add(entry('a', ALICE, 'x')), trail.addIfValid(keyEvent('none'), 0)]);
    const made = Array.from({ length: 9 }, (_, at) => store.commit([trail.add(entry(`k${at}`, ALICE, 'x'))]));
    expect(await refusalOf(refused)).toBe('unmet');
    await Promise.all(made);
    await store.commit([
      trail.addOfHolder({ ...keyEvent('', 'revoke'), actor: BOB }, '0xa', 'b'),
      trail.add(entry('d', BOB, '')),
    ]);
    const links = await trail.links(-1, ROWS);
    expect(links.map(({ id }) => id)).toEqual(Array.from({ length: 12 }, (_, at) => at + 1));
    expect(await faultsIn(store)).toEqual([]);
    expect(await trail.links(10, { ...ROWS, rows: 1 })).toEqual([links[10]!]);
    expect((await trail.list({ ...ALL, before: 12, limit: 2 })).map(({ id }) => id)).toEqual([11, 10]);
  });

  test('a page of the chain ends at its limit of rows or characters, and has at least one entry', async () => {
    await using store = await open();
    const { trail } = store;
    const note = 'x'.repeat(1_000);
    for (let at = 0; at < 6; at++) await store.commit([trail.add(entry(`k${at}`, ALICE, note))]);
    const idsOf = async (after: number, rows: number, chars: number) =>
      (await trail.links(after, { rows, chars })).map(({ id }) => id);
    expect(await idsOf(0, 4, 1_000_000)).toEqual([1, 2, 3, 4]);
    // Notes are stored as words, separate from the facts, and both count.
    expect(await idsOf(0, 99, 2_500)).toEqual([1, 2, 3]);
    expect(await idsOf(3, 99, 2_500)).toEqual([4, 5, 6]);
    expect(await idsOf(5, 99, 1)).toEqual([6]);
    expect(await idsOf(6, 99, 1)).toEqual([]);
  });

  test('an entry is read with its actor, place and words; a secret is not stored', async () => {
    await using store = await open();
    const details = {
      before: { name: 'old', scopes: ['chat'] },
      after: { name: 'new', scopes: ['sk-abcdefghijklmnop'] },
    };
    const event = { ...entry('a', BOB, ''), details };
    await store.commit([
      store.trail.add(event),
      store.trail.add({ ...entry('a', ALICE, ''), subject: { kind: 'person', id: 'p1' } }),
    ]);
    const [second, first] = await store.trail.list(ALL);
    const { requestId, from, ...actor } = BOB;
    expect(first).toEqual({
      ...{
        id: 1,
        time: NOON,
        actor,
        from,
        requestId,
        action: 'grant',
        subject: { kind: 'key', id: 'a' },
        isErased: false,
      },
      details: { before: details.before, after: { name: 'new', scopes: ['[secret]'] } },
    });
    expect(second).toMatchObject({ subject: { kind: 'person', id: 'p1' }, from: 'alice' });
    expect(await store.trail.list({ ...ALL, kind: 'person' })).toEqual([second!]);
    // The hashes are left out, because they could contain these letters by chance.
    const bare = { words: null, seals: null, hash: null, previous: null };
    const facts = (await store.trail.links(0, ROWS)).map((link) => JSON.stringify({ ...link, ...bare }));
    for (const word of ['old', 'new', 'alice', '203.0', 'b0b']) expect(facts.join()).not.toContain(word);
  });

  test('the trail is listed by actor, action and time, page by page', async () => {
    await using store = await open();
    const { trail } = store;
    await store.commit([
      trail.add(entry('a', ALICE, 'one', NOON)),
      trail.add(entry('b', BOB, 'two', NOON + 1)),
      trail.add({ ...entry('a', ALICE, 'three', NOON + 2), action: 'revoke' }),
      trail.add({ ...entry('c', { kind: 'server' }, 'four', NOON + 3), action: 'revoke' }),
      trail.add(entry('b', ALICE, 'five', NOON + 4)),
    ]);
    const idsOf = async (filters: Partial<TrailQuery>) =>
      (await trail.list({ ...ALL, ...filters })).map(({ id }) => id);
    expect(await idsOf({ actor: 'alice' })).toEqual([5, 3, 1]);
    expect(await idsOf({ actor: 'server' })).toEqual([4]);
    expect(await idsOf({ actor: 'ali' })).toEqual([]);
    // An address of a caller does not match as the name of an actor.
    expect(await idsOf({ actor: '203.0.113.7' })).toEqual([]);
    expect(await idsOf({ action: 'revoke' })).toEqual([4, 3]);
    expect(await idsOf({ from: NOON + 1, to: NOON + 4 })).toEqual([4, 3, 2]);
    expect(await idsOf({ keyId: 'a', actor: 'alice', action: 'grant', from: NOON, to: NOON + 1 })).toEqual([1]);
    expect(await idsOf({ actor: 'alice', limit: 2 })).toEqual([5, 3]);
    expect(await idsOf({ actor: 'alice', limit: 2, before: 3 })).toEqual([1]);
    await store.commit([trail.erase({ actorName: 'alice' }, BOB, NOON + 5)]);
    expect(await idsOf({ actor: 'alice' })).toEqual([]);
    expect(await idsOf({ actor: 'cli' })).toEqual([5, 3, 1]);
  });

  test('erasing the words of an actor or a subject leaves the chain intact and visible as erased', async () => {
    await using store = await open();
    const { trail } = store;
    await store.commit([
      trail.add(entry('a', ALICE, 'one')),
      trail.add(entry('b', BOB, 'two')),
      trail.add(entry('a', BOB, 'three')),
    ]);
    await store.commit([trail.erase({ actorName: 'alice' }, BOB, NOON)]);
    await store.news.look();
    let changes = 0;
    const end = store.news.on('people', () => void changes++);
    await store.news.look();
    const before = changes;
    await store.commit([trail.erase({ subject: 'a' }, BOB, NOON)]);
    await store.news.look();
    // Servers drop texts that they keep in memory.
    expect(changes).toBe(before + 1);
    end();
    expect(await refusalOf(store.commit([trail.erase({ subject: 'a' }, BOB, NOON)]))).toBe('unmet');
    const entries = (await trail.list(ALL)).reverse();
    expect(
      entries.map(({ actor, from, details, isErased }) => [actor.name, from, details.note, isErased]).slice(0, 3),
    ).toEqual([
      [null, null, null, true],
      ['b0b', '203.0.113.7', 'two', false],
      ['b0b', '203.0.113.7', null, true],
    ]);
    expect(entries.slice(3).map(({ action, details }) => [action, details])).toEqual([
      ['erase', { words: ['1.by', '1.from'] }],
      ['erase', { words: ['1.details', '3.details'] }],
    ]);
    expect(await checkTrail(trail, [])).toMatchObject({ faults: [], erased: 2, entries: 5 });
  });

  test('retention leaves an anchor and deletes nothing twice', async () => {
    await using store = await open();
    const { trail } = store;
    const made = [1, 2, 3, 4].map((at) => trail.add(entry('a', ALICE, `${at}`, NOON + at)));
    await store.commit(made);
    const idsOf = async () => (await trail.links(-1, ROWS)).map(({ id, action }) => `${id} ${action}`);
    const [, second] = await trail.links(0, { ...ROWS, rows: 2 });
    await store.commit([trail.prune(NOON, NOON)]);
    expect(await idsOf()).toHaveLength(4);
    await store.commit([trail.prune(NOON + 3, NOON + 9)]);
    expect(await idsOf()).toEqual(['3 grant', '4 grant', '5 anchor']);
    expect((await trail.list(ALL))[0]?.details).toEqual({ through: 2, hash: second!.hash });
    await store.commit([trail.prune(NOON + 3, NOON + 9)]);
    expect(await idsOf()).toHaveLength(3);
    // The earlier entry no longer exists, so its hash cannot be compared.
    expect(await checkTrail(trail, [second!])).toMatchObject({ faults: [], confirmed: 0 });
    await store.commit([trail.prune(NOON + 9, NOON + 9)]);
    expect(await idsOf()).toEqual(['6 anchor']);
    await store.commit([trail.prune(NOON + 99, NOON + 99)]);
    expect(await idsOf()).toEqual(['6 anchor']);
    await store.commit([trail.add(entry('a', ALICE, 'next'))]);
    expect(await checkTrail(trail, [])).toMatchObject({ faults: [], first: 6 });
  });
}
