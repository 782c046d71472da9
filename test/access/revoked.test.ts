import { describe, expect, test } from 'bun:test';
import { keyStateOf } from '../../src/access/key-entry.ts';
import { Lines } from '../../src/access/levels.ts';
import { KeyTermsError, USER_LIMITS } from '../../src/access/terms.ts';
import { SERVER } from '../../src/store/trail.ts';
import { tempFolder } from '../store/support.ts';
import { everyKey, MORNING, type OpenedKeys, open, reasonOf } from './support.ts';

/** How many revoked keys stay in memory for a while. */
const KEPT = 1_000;

const idOf = (key: string): string => key.split('_')[2] ?? '';

async function makeChild({ keys }: OpenedKeys, key: string, name: string) {
  const grant = { name, scopes: ['chat', 'delegate'] as const };
  return (await keys.createBelow(`Bearer ${key}`, grant, SERVER))!;
}

/** Revokes as many other keys as stay in memory. */
async function crowdOut({ keys, store }: OpenedKeys): Promise<void> {
  const { info } = await keys.create({ name: 'crowd', scopes: ['chat'] });
  const ids = Array.from({ length: KEPT }, (_, at) => `crowd${at}`);
  await store.commit(ids.map((id, at) => store.keys.insert({ ...info, id }, new Uint8Array(32).fill(at % 256))));
  await keys.refresh();
  await store.commit(ids.map((id) => store.keys.revoke(id, MORNING)));
  await keys.refresh();
}

describe('a key that has ended', () => {
  test('a revoked key and the keys below it leave the memory, and reports keep its name, labels, owner and line', async () => {
    using folder = tempFolder();
    const opened = await open(folder.file);
    const { keys } = opened;
    const root = await keys.create({ name: 'root', scopes: ['chat', 'delegate'], labels: { env: 'test' } });
    const child = await makeChild(opened, root.key, 'child');
    const grandchild = await makeChild(opened, child.key, 'grandchild');
    await keys.revoke(child.info.id);
    expect(reasonOf(keys, root.key)).toBe(null);
    expect([child, grandchild].map(({ key }) => reasonOf(keys, key))).toEqual(['revoked', 'revoked']);
    await crowdOut(opened);
    expect([child, grandchild].map(({ info }) => keys.known(info.id))).toEqual([null, null]);
    expect([child, grandchild].map(({ key }) => reasonOf(keys, key))).toEqual(['unknown', 'unknown']);
    const named = await keys.named([root.info.id, child.info.id, grandchild.info.id, 'none', '0xabc', 'user_ann']);
    expect(new Set([...named.values()].map(({ name, parent }) => `${name} below ${parent}`))).toEqual(
      new Set(['root below null', `child below ${root.info.id}`, `grandchild below ${child.info.id}`]),
    );
    // A child key has the labels of its parent, which the store does not save with the child key.
    expect([root, child].map(({ info }) => named.get(info.id)?.labels)).toEqual([{ env: 'test' }, null]);
    expect(await keys.above(grandchild.info.id)).toEqual([child.info.id, root.info.id]);
    const lines = new Lines(keys);
    expect(lines.lineOf(grandchild.info.id)).toEqual([]);
    const lineOf = await lines.linesOf([grandchild.info.id]);
    for (const line of [lineOf, lines.lineOf]) expect(line(grandchild.info.id)).toEqual([child.info.id, root.info.id]);
    expect((await lines.descendantsOf(root.info.id, 9)).length).toBe(2);
    await opened.close();
  });

  test('after a start, the secrets of revoked keys and of the keys below them are known, and only those of the last keys', async () => {
    using folder = tempFolder();
    const before = await open(folder.file);
    const root = await before.keys.create({ name: 'root', scopes: ['chat', 'delegate'] });
    before.clock.now += 1;
    const child = await makeChild(before, root.key, 'child');
    const revoked = await makeChild(before, root.key, 'revoked');
    const other = await before.keys.create({ name: 'other', scopes: ['chat'] });
    await before.keys.revoke(revoked.info.id);
    await before.keys.revoke(root.info.id);
    await before.close();
    const after = await open(folder.file);
    const { keys } = after;
    const ended = [root, child, revoked];
    expect(ended.map(({ key }) => reasonOf(keys, key))).toEqual(['revoked', 'revoked', 'revoked']);
    expect(reasonOf(keys, other.key)).toBe(null);
    const presented = ended.map(({ key }) => keys.authenticate(`Bearer ${key}`));
    const { id } = root.info;
    expect(presented).toMatchObject([
      { caller: null, known: { keyId: id } },
      { caller: null, known: { keyId: child.info.id, line: [id] }, root: id },
      { caller: null, known: { keyId: revoked.info.id, line: [id] }, root: id },
    ]);
    expect(
      reasonOf(
        keys,
        root.key.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      ),
    ).toBe('unknown');
    expect(keys.idsWhere(() => true)).toEqual([other.info.id]);
    const shown = (await everyKey(keys)).toSorted((a, b) => (a.name < b.name ? 1 : -1));
    expect(shown.map(({ name, inForce }) => [name, inForce?.revokedAt != null])).toEqual([
      ['root', false],
      ['revoked', true],
      ['other', false],
      ['child', true],
    ]);
    await crowdOut(after);
    await after.close();
    const last = await open(folder.file);
    expect(ended.map(({ key }) => reasonOf(last.keys, key))).toEqual(['unknown', 'unknown', 'unknown']);
    expect(last.keys.known('crowd0')?.name).toBe('crowd');
    await last.close();
  });

  test('after a start, the secret of a child key that expired long ago is known', async () => {
    using folder = tempFolder();
    const before = await open(folder.file);
    const root = await before.keys.create({ name: 'root', scopes: ['chat', 'delegate'] });
    const grant = { name: 'short', scopes: ['chat'] as const, expiresAt: before.clock.now + 60_000 };
    const child = (await before.keys.createBelow(`Bearer ${root.key}`, grant, SERVER))!;
    await before.close();
    const after = await open(folder.file, { now: MORNING + 2 * 86_400_000 });
    expect(after.keys.idsWhere(() => true)).toEqual([root.info.id]);
    expect(after.keys.authenticate(`Bearer ${child.key}`)).toMatchObject({
      reason: 'expired',
      known: { keyId: child.info.id, line: [root.info.id] },
    });
    await after.close();
  });

  test('a revoked key cannot be installed again after a start', async () => {
    using folder = tempFolder();
    const before = await open(folder.file);
    const spare = await before.keys.create({ name: 'spare', scopes: ['chat', 'route', 'admin'] });
    const { key } = await before.keys.create({ name: 'admin', scopes: ['chat', 'route', 'admin'] });
    await before.keys.revoke(idOf(key));
    await before.close();
    const after = await open(folder.file);
    expect(after.keys.install(key)).rejects.toThrow('was revoked. Install a new key.');
    expect(reasonOf(after.keys, spare.key)).toBe(null);
    await after.close();
  });

  test('a child key that expired a day ago leaves the memory, and works again if its expiry is moved', async () => {
    using folder = tempFolder();
    const opened = await open(folder.file);
    const { keys, clock } = opened;
    const root = await keys.create({ name: 'root', scopes: ['chat', 'delegate'] });
    const grant = { name: 'short', scopes: ['chat', 'delegate'] as const, expiresAt: clock.now + 60_000 };
    const child = (await keys.createBelow(`Bearer ${root.key}`, grant, SERVER))!;
    const grandchild = (await keys.createBelow(`Bearer ${child.key}`, { ...grant, name: 'below' }, SERVER))!;
    clock.now += 86_400_000;
    await keys.refresh();
    expect(keys.idsWhere(() => true)).toHaveLength(3);
    for (let minute = 0; minute < 3; minute++) {
      clock.now += 61_000;
      await keys.refresh();
    }
    expect(keys.idsWhere(() => true)).toEqual([root.info.id]);
    const states = async () =>
      (await everyKey(keys)).map((info) => `${info.name} ${keyStateOf(info.inForce ?? info, clock.now)}`).toSorted();
    expect(await states()).toEqual(['below expired', 'root valid', 'short expired']);
    await crowdOut(opened);
    expect((await states()).filter((one) => !one.startsWith('crowd'))).toEqual([
      'below expired',
      'root valid',
      'short expired',
    ]);
    const later = { expiresAt: clock.now + 60_000 };
    for (const { info } of [child, grandchild]) await keys.change(info.id, (before) => ({ ...before, ...later }));
    expect([child, grandchild].map(({ key }) => reasonOf(keys, key))).toEqual([null, null]);
    await opened.close();
  });

  test('a revoked key keeps a last use that was not written yet', async () => {
    using folder = tempFolder();
    const opened = await open(folder.file);
    const { keys, clock, store } = opened;
    const { key, info } = await keys.create({ name: 'app', scopes: ['chat'] });
    clock.now = MORNING + 5;
    expect(reasonOf(keys, key)).toBe(null);
    await keys.revoke(info.id);
    await store.flush();
    expect((await store.keys.find(info.id))?.lastUsedAt).toBe(MORNING + 5);
    await opened.close();
  });
});

test('two servers at the same time create no more keys for a user than the user may have', async () => {
  using folder = tempFolder();
  const all = [await open(folder.file), await open(folder.file)];
  const made = await Promise.all(
    Array.from({ length: USER_LIMITS.unrevoked + 20 }, (_, at) =>
      all[at % 2]!.keys.create({ name: '', scopes: ['chat'] }, SERVER, { maker: 'user_ann' }).catch((cause) => cause),
    ),
  );
  const refused = made.filter((one) => one instanceof KeyTermsError);
  expect(refused).toHaveLength(20);
  expect(refused[0]).toMatchObject({ param: 'user', message: expect.stringContaining('You have 200 keys') });
  for (const { close } of all) await close();
});
