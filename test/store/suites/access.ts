import { expect, test } from 'bun:test';
import type { AnswerRow } from '../../../src/store/idempotency.ts';
import { type KeyInfo, NO_KEY_TERMS } from '../../../src/store/keys.ts';
import { type KeyEvent, SERVER, type SubjectEvent } from '../../../src/store/trail.ts';
import { hashOf as chainHashOf } from '../../../src/store/trail-chain.ts';
import { refusalOf, type TestedStore } from '../implementations.ts';

export const NOON = Date.UTC(2026, 10, 21, 12);
export const DAY_MS = 86_400_000;
export const HASHES: Readonly<Record<string, Uint8Array>> = Object.fromEntries(
  [...'abcdefgw', 'none'].map((id, at) => [id, new Uint8Array(32).fill(100 + at)]),
);
export const hashOf = (byte: number) => new Uint8Array(32).fill(byte);

export const keyInfo = (id: string, more: Partial<KeyInfo> = {}): KeyInfo => ({
  ...NO_KEY_TERMS,
  id,
  name: `the key ${id}`,
  scopes: ['chat'],
  labels: { team: 'blue' },
  models: ['best'],
  limits: { requestsPerMinute: 5, tokensPerMinute: null, concurrentStreams: 2 },
  budgets: [{ limit: 1_500_000, window: 'day', timeZone: 'Europe/Berlin', onExhausted: 'reject' }],
  holder: null,
  createdAt: NOON,
  revokedAt: null,
  lastUsedAt: null,
  rotatedAt: null,
  overlapEndsAt: null,
  suspendedAt: null,
  parent: null,
  ...more,
});

export const keyEvent = (keyId: string, action: KeyEvent['action'] = 'create', time = NOON): KeyEvent => ({
  time,
  actor: SERVER,
  action,
  keyId,
  details: {},
});

export const subjectEvent = ({ keyId, ...event }: KeyEvent): SubjectEvent => ({
  ...event,
  subject: { kind: 'key', id: keyId },
});

/** The guarantees of every table of keys with their trail. */
export function accessSuite(open: () => Promise<TestedStore>): void {
  test('keys are read as they were stored, oldest first', async () => {
    await using store = await open();
    const { keys } = store;
    const rolling: KeyInfo['budgets'][number] = {
      ...{ limit: 7, window: 'every', timeZone: 'UTC', onExhausted: 'cap' },
      every: { seconds: 900, from: NOON },
      opening: { spent: 3, until: null },
    };
    const terms = { models: null, limits: null, budgets: [rolling] };
    const wallet = { holder: '0xa', holders: ['0xb'], ...terms, createdAt: NOON - 1 };
    await store.commit([keys.insert(keyInfo('one'), hashOf(1)), keys.insert(keyInfo('two', wallet), hashOf(2))]);
    const rows = await keys.all();
    const { lastUsedAt: _, ...one } = keyInfo('one');
    expect(rows.map(({ key }) => key.info.id)).toEqual(['two', 'one']);
    expect(rows[0]?.key.info).toMatchObject(wallet);
    expect(await keys.ofHolder('0xa')).toEqual([rows[0]!]);
    expect(await Promise.all([keys.find('one'), keys.find('none')])).toEqual([rows[1]!, null]);
    expect(rows[1]).toEqual({
      key: { info: one, hash: hashOf(1), previousHash: null, parentHash: null, importedHash: null },
      lastUsedAt: null,
      version: expect.any(Number),
    });
  });

  test('the latest use of a key is kept; a use of an unknown key is ignored', async () => {
    await using store = await open();
    const { keys } = store;
    await store.commit([keys.insert(keyInfo('one'), hashOf(1)), keys.insert(keyInfo('two'), hashOf(2))]);
    await store.commit([keys.putUses({ one: NOON, nobody: NOON }), keys.revoke('two', NOON + 5)]);
    await store.commit([keys.putUses({ one: NOON - 9 })]);
    const after = await keys.all();
    expect(after.map(({ lastUsedAt }) => lastUsedAt)).toEqual([NOON, null]);
    expect(after[1]?.key.info.revokedAt).toBe(NOON + 5);
  });

  test('a rotation keeps only the previous hash', async () => {
    await using store = await open();
    const { keys } = store;
    await store.commit([keys.insert(keyInfo('one'), hashOf(1))]);
    await store.commit([keys.rotate('one', hashOf(2), NOON, NOON + 1)]);
    await store.commit([keys.rotate('one', hashOf(3), NOON + 2, NOON + 3)]);
    const [row] = await keys.all();
    expect(row?.key).toMatchObject({ hash: hashOf(3), previousHash: hashOf(2) });
    expect(row?.key.info).toMatchObject({ rotatedAt: NOON + 2, overlapEndsAt: NOON + 3 });
  });

  test('an imported key is found by the hash of its import, also after a rotation, and no other key has that hash', async () => {
    await using store = await open();
    const { keys } = store;
    const isImported = { isImported: true };
    await store.commit([keys.insert(keyInfo('one'), hashOf(1), isImported), keys.insert(keyInfo('two'), hashOf(2))]);
    await store.commit([keys.rotate('one', hashOf(3), NOON, NOON + 1)]);
    const idsWith = async (...bytes: number[]) =>
      (await keys.withHashes(bytes.map(hashOf))).map(({ key }) => key.info.id).sort();
    expect(await idsWith(1)).toEqual(['one']);
    expect(await idsWith(1, 2, 3, 4)).toEqual(['one', 'two']);
    expect(await idsWith(4)).toEqual([]);
    expect((await keys.find('one'))?.key).toMatchObject({ importedHash: hashOf(1), hash: hashOf(3) });
    expect((await keys.changedAfter(-1)).rows.map(({ key }) => key.importedHash)).toEqual([hashOf(1), null]);
    expect(await refusalOf(store.commit([keys.insert(keyInfo('three'), hashOf(1), isImported)]))).toBe('refused');
  });

  test('many entries of the trail are added at once, with the same chain as one by one', async () => {
    await using store = await open();
    const { trail } = store;
    const actor = { kind: 'key', name: 'k', requestId: 'req_1', from: '192.0.2.7' } as const;
    const event = (id: string) => subjectEvent({ ...keyEvent(id), actor, details: { name: `"${id}" ß` } });
    await store.commit([trail.add(event('a'))]);
    await store.commit([trail.addAll(['b', 'c', 'd'].map(event))]);
    await store.commit([trail.add(event('e'))]);
    const links = await trail.links(0, { rows: 9, chars: 1e6 });
    expect(links.map(({ subject }) => subject.id)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(links.map(chainHashOf)).toEqual(links.map(({ hash }) => hash));
    expect(links.slice(1).map(({ previous }) => previous)).toEqual(links.slice(0, -1).map(({ hash }) => hash));
    const all = await trail.list({ keyId: null, limit: 9 });
    expect(all.map(({ details, from }) => [details, from])).toEqual(
      ['e', 'd', 'c', 'b', 'a'].map((id) => [{ name: `"${id}" ß` }, '192.0.2.7']),
    );
  });

  test('a second key with the same ID is refused, and nothing of its commit is written', async () => {
    await using store = await open();
    const { keys, trail } = store;
    await store.commit([keys.insert(keyInfo('one'), hashOf(1))]);
    const again = [trail.add(subjectEvent(keyEvent('one'))), keys.insert(keyInfo('one'), hashOf(2))];
    expect(await refusalOf(store.commit(again))).toBe('refused');
    expect(await trail.list({ keyId: null, limit: 9 })).toEqual([]);
    expect((await keys.all())[0]?.key.hash).toEqual(hashOf(1));
  });

  test('a commit that requires a valid key is refused as a whole for an unknown, revoked or expired key', async () => {
    await using store = await open();
    const { keys, trail } = store;
    const expired = keyInfo('old', { expiresAt: NOON });
    await store.commit([keys.insert(keyInfo('one'), hashOf(1)), keys.insert(expired, hashOf(2))]);
    const change = (id: string, validAt: number) =>
      refusalOf(store.commit([trail.addIfValid(keyEvent(id, 'grant'), validAt), keys.putUses({ one: NOON })]));
    expect(await change('none', 0)).toBe('unmet');
    expect(await change('old', NOON)).toBe('unmet');
    expect((await keys.all()).map(({ lastUsedAt }) => lastUsedAt)).toEqual([null, null]);
    expect(await change('old', NOON - 1)).toBeNull();
    expect(await change('one', Number.MAX_SAFE_INTEGER)).toBeNull();
    await store.commit([keys.revoke('one', NOON)]);
    expect(await change('one', 0)).toBe('unmet');
  });

  test('a wallet has at most its number of unrevoked keys, and creates at most its number a day', async () => {
    await using store = await open();
    const { keys, trail } = store;
    const make = (id: string, at: number) =>
      refusalOf(
        store.commit([
          trail.addIfRoom(keyEvent(id, 'create', at), '0xa', { unrevoked: 2, aDay: 3 }),
          keys.insert(keyInfo(id, { holder: '0xa', createdAt: at }), hashOf(1)),
        ]),
      );
    expect([await make('a', NOON), await make('b', NOON), await make('c', NOON)]).toEqual([null, null, 'unmet']);
    await store.commit([keys.revokeOfHolder('0xa', 'b', NOON)]);
    expect([await make('c', NOON), await make('d', NOON)]).toEqual([null, 'unmet']);
    await store.commit([keys.revokeOfHolder('0xa', null, NOON)]);
    expect([await make('d', NOON), await make('d', NOON + DAY_MS)]).toEqual(['unmet', null]);
  });

  test('keys are read in pages, by owner, by name and by parent, revoked or not', async () => {
    await using store = await open();
    const { keys } = store;
    const rows = [
      keyInfo('c', { createdAt: 1, team: 'red', user: 'ann' }),
      keyInfo('a', { createdAt: 2, team: 'red', name: 'app', labels: { env: 'test' } }),
      keyInfo('b', { createdAt: 2, parent: 'c' }),
      keyInfo('d', { createdAt: 3, parent: 'b' }),
      keyInfo('e', { createdAt: 4, user: 'bob' }),
    ];
    await store.commit(rows.map((info) => keys.insert(info, hashOf(1))));
    await store.commit([keys.revoke('a', NOON)]);
    const page = async (query: Partial<Parameters<typeof keys.page>[0]>) => {
      const found = await keys.page({ after: null, limit: 9, of: null, isUnrevoked: false, ...query });
      return found.map(({ key }) => key.info.id).join('');
    };
    expect(await page({})).toBe('cabde');
    expect(await page({ limit: 2, after: rows[0]! })).toBe('ab');
    expect(await page({ after: rows[1]! })).toBe('bde');
    expect(await page({ isUnrevoked: true })).toBe('cbde');
    expect(await page({ of: { member: 'team', id: 'red' } })).toBe('cabd');
    expect(await page({ of: { member: 'team', id: 'red' }, isUnrevoked: true, after: rows[0]! })).toBe('bd');
    expect(await page({ of: { member: 'user', id: 'bob' } })).toBe('e');
    expect(await page({ of: { member: 'parent', id: 'c' } })).toBe('b');
    expect(await keys.page({ after: null, limit: 9, of: null, isUnrevoked: false })).toEqual(await keys.all());
    const sorted = async (ids: Promise<string[]>) => (await ids).toSorted().join('');
    expect(await sorted(keys.idsOf({ team: 'red', user: 'bob' }))).toBe('abcde');
    expect(await sorted(keys.idsOf({ team: null, user: 'ann' }))).toBe('bcd');
    expect(await sorted(keys.idsOf({ name: 'app' }))).toBe('a');
    expect(await sorted(keys.idsBelow('c', 9))).toBe('bd');
    expect(await keys.idsBelow('c', 1)).toHaveLength(1);
    expect(await keys.names(['a', 'none'])).toEqual([
      { id: 'a', name: 'app', labels: { env: 'test' }, parent: null, team: 'red', user: null },
    ]);
    expect(await keys.names(['b'])).toMatchObject([{ id: 'b', labels: null, parent: 'c', user: 'ann' }]);
  });

  test('limits of a user count its keys (not child keys) and the keys created a day; a key without a user counts for its creator', async () => {
    await using store = await open();
    const { keys, trail } = store;
    const make = (id: string, at: number, user: string | null, maker = 'lead') =>
      refusalOf(
        store.commit([
          trail.addIfRoomOfUser(keyEvent(id, 'create', at), { owner: user ?? maker, maker, unrevoked: 2, aDay: 3 }),
          keys.insert(keyInfo(id, { user, createdAt: at }), hashOf(1), { maker }),
        ]),
      );
    await store.commit([
      keys.insert(keyInfo('by an operator', { user: 'ann' }), hashOf(1)),
      keys.insert(keyInfo('child', { user: 'ann', parent: 'by an operator' }), hashOf(1)),
    ]);
    expect([await make('a', NOON, 'ann'), await make('b', NOON, 'ann')]).toEqual([null, 'unmet']);
    expect([await make('b', NOON, null), await make('c', NOON, 'bob')]).toEqual([null, null]);
    expect([await make('d', NOON, 'bob'), await make('d', NOON, 'bob', 'bob')]).toEqual(['unmet', null]);
    expect(await keys.countOfUser({ owner: 'ann', maker: 'lead' }, NOON)).toEqual({ unrevoked: 2, aDay: 3 });
    expect(await keys.countOfUser({ owner: 'lead', maker: 'bob' }, NOON + DAY_MS)).toEqual({ unrevoked: 1, aDay: 0 });
    await store.commit([keys.revoke('a', NOON)]);
    expect([await make('e', NOON, 'ann'), await make('e', NOON + DAY_MS, 'ann')]).toEqual(['unmet', null]);
  });

  test('revoking the keys of a wallet adds an entry to the trail for each of them', async () => {
    await using store = await open();
    const { keys, trail } = store;
    const own = ['c', 'b', 'a'].map((id, i) => keys.insert(keyInfo(id, { holder: '0xa', createdAt: i }), hashOf(i)));
    await store.commit([...own, keys.revoke('a', NOON), keys.insert(keyInfo('other'), hashOf(9))]);
    const actor = { kind: 'wallet', name: '0xa' } as const;
    const event = { time: NOON, actor, action: 'revoke', details: { by: ['a', 1] } } as const;
    await store.commit([trail.addOfHolder(event, '0xa', null), keys.revokeOfHolder('0xa', null, NOON)]);
    const entries = await trail.list({ keyId: null, limit: 9 });
    expect(entries.map(({ subject }) => subject.id)).toEqual(['b', 'c']);
    expect(entries[0]).toMatchObject({ id: 2, time: NOON, actor, details: { by: ['a', 1] }, requestId: null });
    expect(await trail.list({ keyId: 'c', limit: 9 })).toHaveLength(1);
    expect(await trail.list({ keyId: null, limit: 1 })).toMatchObject([{ subject: { id: 'b' } }]);
  });

  const bytes = (text: string) => new Uint8Array(Buffer.from(text));
  const owner = { slot: 3, epoch: 5 };
  const running: AnswerRow = {
    name: hashOf(7),
    state: 'running',
    decision: 5,
    earlier: null,
    losses: 1,
    time: NOON,
    salt: bytes('salt'),
    verifier: bytes('verifier'),
    body: bytes('body'),
    answer: null,
    owner,
  };

  test('a kept answer is returned byte for byte until it is replaced, deleted or too old', async () => {
    await using store = await open();
    const table = store.idempotency;
    const row: AnswerRow = { ...running, state: 'kept', answer: bytes('answer'), owner: null };
    const later = { ...row, name: hashOf(8), time: NOON + 1 };
    await store.commit([table.claim(row, null), table.claim(later, null)]);
    expect(await table.find(hashOf(7))).toEqual(row);
    const lost: AnswerRow = { ...row, state: 'lost', answer: null, earlier: 4 };
    await store.commit([table.replace(row, lost)]);
    expect(await table.find(hashOf(7))).toEqual(lost);
    expect(await refusalOf(store.commit([table.replace(lost, { ...row, answer: null })]))).toBe('refused');
    expect(await refusalOf(store.commit([table.claim({ ...row, name: bytes('short') }, null)]))).toBe('refused');
    expect(await table.prune(NOON)).toBe(1);
    expect(await table.prune(NOON)).toBe(0);
    expect([await table.find(hashOf(7)), await table.find(hashOf(8))]).toEqual([null, later]);
    await store.commit([table.replace(later, null), table.replace(row, null)]);
    expect(await table.find(hashOf(8))).toBeNull();
  });

  test('if several callers that saw the same row claim a name, only one commit succeeds, and nothing of the other commits is written', async () => {
    await using store = await open();
    const table = store.idempotency;
    const other = { ...running, salt: bytes('other'), decision: 6 };
    await store.commit([table.claim(running, null)]);
    // The caller repeats the same claim, as after a lost answer.
    await store.commit([table.claim(running, null)]);
    const beside = table.claim({ ...running, name: hashOf(9) }, null);
    expect(await refusalOf(store.commit([beside, table.claim(other, null)]))).toBe('unmet');
    expect(await table.find(hashOf(9))).toBeNull();
    expect(await table.find(hashOf(7))).toEqual(running);
    // The state of the row has changed since the claim.
    await store.commit([table.replace(running, { ...running, state: 'lost', owner: null })]);
    expect(await refusalOf(store.commit([table.claim(other, running)]))).toBe('unmet');
    const seen = { name: hashOf(7), state: 'lost', salt: bytes('salt') } as const;
    await store.commit([table.claim(other, seen)]);
    await store.commit([table.claim(other, seen)]);
    expect(await refusalOf(store.commit([table.claim({ ...running, salt: bytes('third') }, seen)]))).toBe('unmet');
    // The earlier run has lost the name, so its end changes nothing.
    await store.commit([table.replace(running, null), table.replace({ ...seen }, null)]);
    expect(await table.find(hashOf(7))).toEqual(other);
  });

  test('a running row keeps its owner and is not pruned before the owner has ended', async () => {
    await using store = await open();
    const table = store.idempotency;
    const next = { slot: 3, epoch: 6 };
    await store.commit([
      table.claim(running, null),
      table.claim({ ...running, name: hashOf(8) }, null),
      table.claim({ ...running, name: hashOf(9), owner: next }, null),
    ]);
    expect(await table.owners()).toEqual([owner, next]);
    expect(await table.prune(NOON)).toBe(0);
    await store.commit([table.disown(owner)]);
    expect(await table.owners()).toEqual([next]);
    expect(await table.find(hashOf(7))).toEqual({ ...running, owner: null });
    expect(await table.prune(NOON)).toBe(2);
    expect(await table.find(hashOf(9))).toMatchObject({ state: 'running', owner: next });
  });
}
