import { describe, expect, spyOn, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { isStrong, parseKey } from '../../src/access/key.ts';
import { openKeys } from '../../src/access/keys.ts';
import { FULL_SCOPES } from '../../src/core/people/caller.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { accessMigrations } from '../../src/store/sqlite/keys.ts';
import { tempFolder } from '../store/support.ts';
import { HandTimers } from '../support/hand-timers.ts';
import { everyKey } from './support.ts';

const SECRET = 'abcdefghij_lmnopqrst-v'; // 22 characters, the minimum
const KEY = `sb_live_abc123_${SECRET}`;

describe('the form of a key', () => {
  test('the first underscore after the ID of a key begins the secret, which may contain more underscores', () => {
    expect(parseKey(KEY)).toEqual({ id: 'abc123', secret: SECRET });
    expect(parseKey('sb_live_id__a_b')).toEqual({ id: 'id', secret: '_a_b' });
  });
  test.each([
    ['', 'nothing'],
    ['sk-abc', 'another product’s'],
    ['sb_live_abc', 'no secret'],
    ['sb_live_abc_', 'an empty secret'],
    ['sb_live__secret', 'an empty ID'],
    ['sb_live_ABC_secret', 'capitals in the ID'],
    [`${KEY}=`, 'a character outside base64url'],
    [`${KEY}\n`, 'a line end'],
    [`sb_live_abc_${'x'.repeat(300)}`, 'too long'],
  ])('%j is refused: %s', (text) => {
    expect(parseKey(text)).toBeNull();
  });
  test('a secret counts as strong from 22 characters on', () => {
    expect(isStrong({ id: 'a', secret: SECRET })).toBe(true);
    expect(isStrong({ id: 'a', secret: SECRET.slice(1) })).toBe(false);
  });
});

type OwnOptions = Pick<Parameters<typeof openKeys>[0], 'timers' | 'refreshMs' | 'onChange'>;

async function open(file: string, options: OwnOptions = {}, clock = { now: 1_000_000 }) {
  const store = await openSqlite(file, [accessMigrations]);
  const keys = await openKeys({ store, now: () => clock.now, ...options });
  const close = async () => {
    keys.close();
    await store.close();
  };
  return { store, keys, clock, close };
}

describe('authenticate', () => {
  test('a new key is accepted with the terms that it was given', async () => {
    using folder = tempFolder();
    const { keys, close } = await open(folder.file);
    const { key, info } = await keys.create({
      name: 'ci',
      scopes: ['chat', 'route'],
      labels: { team: 'a' },
      models: ['m1'],
    });
    expect(key).toMatch(/^sb_live_[0-9a-z]{12}_[0-9A-Za-z_-]{43}$/);
    const { caller } = keys.authenticate(`Bearer ${key}`);
    expect(caller).toEqual({
      keyId: info.id,
      // The scope `chat` includes `embed`.
      scopes: new Set(['chat', 'route', 'embed']),
      labels: { team: 'a' },
      models: new Set(['m1']),
      limits: null,
      budgets: [],
    });
    expect(keys.authenticate(`bearer  ${key}`).caller).toBe(caller);
    await close();
  });

  test('everything that is not a valid key is denied, with a reason for the log', async () => {
    using folder = tempFolder();
    const { keys, close } = await open(folder.file);
    const { key, info } = await keys.create({ name: 'a', scopes: ['chat'] });
    const wrong = key.slice(0, -2) + (key.endsWith('AA') ? 'BB' : 'AA');
    const reason = (header: string | null) => keys.authenticate(header).reason;
    expect(reason(null)).toBe('missing');
    expect(reason('')).toBe('missing');
    expect(reason(key)).toBe('malformed');
    expect(reason(`Basic ${key}`)).toBe('malformed');
    expect(reason('Bearer sk-123')).toBe('malformed');
    expect(reason(`Bearer ${wrong}`)).toBe('unknown');
    expect(reason(`Bearer ${KEY}`)).toBe('unknown');
    await keys.revoke(info.id);
    expect(reason(`Bearer ${wrong}`)).toBe('unknown');
    expect(reason(`Bearer ${key}`)).toBe('revoked');
    await close();
  });

  test('a key is denied from the millisecond of its expiry', async () => {
    using folder = tempFolder();
    const { keys, clock, close } = await open(folder.file);
    const { key } = await keys.create({ name: 'a', scopes: ['chat'], expiresAt: 2_000_000 });
    clock.now = 1_999_999;
    expect(keys.authenticate(`Bearer ${key}`).reason).toBeNull();
    clock.now = 2_000_000;
    expect(keys.authenticate(`Bearer ${key}`).reason).toBe('expired');
    await close();
  });

  test('an unknown ID takes as long as a wrong secret: both are hashed and compared', async () => {
    using folder = tempFolder();
    const { keys, close } = await open(folder.file);
    const { key } = await keys.create({ name: 'a', scopes: ['chat'] });
    const wrong = `Bearer ${key.slice(0, -3)}AAA`;
    const unknown = `Bearer sb_live_zzzzzzzzzzzz_${key.slice(21, -3)}AAA`;
    const time = (header: string) => {
      const start = performance.now();
      for (let i = 0; i < 500; i++) keys.authenticate(header);
      return performance.now() - start;
    };
    // Measure both times in turns and compare the fastest of each, because a busy machine only makes a loop slower.
    const rounds = Array.from({ length: 100 }, () => [time(unknown), time(wrong)] as const);
    const ratio = Math.min(...rounds.map(([one]) => one)) / Math.min(...rounds.map(([, other]) => other));
    // Code that skipped the hash would be several times faster.
    expect(ratio).toBeGreaterThan(0.4);
    expect(ratio).toBeLessThan(2.5);
    await close();
  });
});

test('the database files contain no key and no secret of a key', async () => {
  using folder = tempFolder();
  const { keys, close } = await open(folder.file);
  const { key } = await keys.create({ name: 'a', scopes: ['chat'] });
  await keys.install(KEY);
  for (const suffix of ['', '-wal']) {
    const bytes = readFileSync(folder.file + suffix).toString('latin1');
    for (const secret of [key.slice(21), SECRET]) {
      for (let i = 0; i + 8 <= secret.length; i++) expect(bytes.includes(secret.slice(i, i + 8))).toBe(false);
    }
  }
  await close();
});

test('a process knows a key that another process revoked or created after one refresh', async () => {
  using folder = tempFolder();
  const server = await open(folder.file);
  const command = await open(folder.file);
  const first = await server.keys.create({ name: 'first', scopes: ['chat'] });
  const second = await command.keys.create({ name: 'second', scopes: ['route'] });
  expect(await command.keys.revoke(first.info.id)).toBe(true);
  expect(server.keys.authenticate(`Bearer ${first.key}`).reason).toBeNull();
  await server.keys.refresh();
  expect(server.keys.authenticate(`Bearer ${first.key}`).reason).toBe('revoked');
  expect(server.keys.authenticate(`Bearer ${second.key}`).caller?.keyId).toBe(second.info.id);
  await Promise.all([server.close(), command.close()]);
});

test('a poll of the news stops a key that another process revoked, and the regular timer reads no keys', async () => {
  using folder = tempFolder();
  const timers = new HandTimers();
  const server = await open(folder.file, { timers, refreshMs: 400 });
  const command = await open(folder.file);
  const { key, info } = await server.keys.create({ name: 'a', scopes: ['chat'] });
  const read = spyOn(server.store.keys, 'changedAfter');
  timers.fire();
  await setImmediate();
  expect(read).not.toHaveBeenCalled();
  await command.keys.revoke(info.id);
  await server.store.news.look();
  expect(server.keys.authenticate(`Bearer ${key}`).reason).toBe('revoked');
  await Promise.all([server.close(), command.close()]);
});

test('the regular timer applies budgets again that could not be applied, so that a new key starts to work', async () => {
  using folder = tempFolder();
  const timers = new HandTimers();
  let isBroken = true;
  const onChange = () => (isBroken ? Promise.reject(new Error('the ledger is away')) : Promise.resolve());
  const server = await open(folder.file, { timers, refreshMs: 400, onChange });
  const command = await open(folder.file);
  const budgets = [{ limit: 1_000_000, window: 'day', timeZone: 'UTC', onExhausted: 'reject' }] as const;
  const { key } = await command.keys.create({ name: 'a', scopes: ['chat'], budgets });
  await server.store.news.look();
  expect(server.keys.authenticate(`Bearer ${key}`).caller).toBeNull();
  isBroken = false;
  timers.fire();
  await setImmediate();
  expect(server.keys.authenticate(`Bearer ${key}`).reason).toBeNull();
  await Promise.all([server.close(), command.close()]);
});

test('keys survive a restart; the list shows all keys, oldest first, without hashes', async () => {
  using folder = tempFolder();
  const before = await open(folder.file);
  const first = await before.keys.create({ name: 'first', scopes: ['chat'] });
  before.clock.now += 5;
  await before.keys.create({ name: 'second', scopes: ['admin'], expiresAt: 9_000_000 });
  await before.keys.revoke(first.info.id);
  await before.close();
  const after = await open(folder.file);
  const list = await everyKey(after.keys);
  expect(list.map(({ name, revokedAt, expiresAt }) => ({ name, revokedAt, expiresAt }))).toEqual([
    { name: 'first', revokedAt: 1_000_005, expiresAt: null },
    { name: 'second', revokedAt: null, expiresAt: 9_000_000 },
  ]);
  expect(Object.keys(list[0]!)).not.toContain('hash');
  expect(await after.keys.revoke(first.info.id)).toBe(false);
  expect(await after.keys.revoke('nobody')).toBe(false);
  await after.close();
});

describe('install', () => {
  test('install gives a key all scopes, and repeating it changes nothing', async () => {
    using folder = tempFolder();
    const { keys, close } = await open(folder.file);
    const info = await keys.install(KEY);
    expect(await keys.install(KEY)).toEqual(info);
    expect(keys.authenticate(`Bearer ${KEY}`).caller?.scopes).toEqual(new Set(FULL_SCOPES));
    expect(await everyKey(keys)).toHaveLength(1);
    await close();
  });
  test('install refuses a malformed, weak or revoked key and the ID of another key, in one sentence', async () => {
    using folder = tempFolder();
    const { keys, close } = await open(folder.file);
    await keys.install(KEY);
    await expect(keys.install('secret')).rejects.toThrow('does not have the form sb_live_<id>_<secret>.');
    await expect(keys.install(KEY.slice(0, -1))).rejects.toThrow(
      'needs at least 22 base64url characters, which are 128 random bits.',
    );
    await expect(keys.install(`${KEY}x`)).rejects.toThrow(
      'A key with the ID abc123 already exists and has a different secret',
    );
    await keys.create({ name: 'another', scopes: ['admin'] });
    await keys.revoke('abc123');
    await expect(keys.install(KEY)).rejects.toThrow('The key abc123 was revoked');
    await close();
  });
});
