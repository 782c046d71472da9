import { describe, expect, test } from 'bun:test';
import { KeyTermsError } from '../../src/access/terms.ts';
import type { KeyBudget } from '../../src/core/people/caller.ts';
import type { SqlStore } from '../../src/store/sqlite/statement.ts';
import type { Write } from '../../src/store/store.ts';
import { tempFolder } from '../store/support.ts';
import { everyKey, MORNING, open, reasonOf } from './support.ts';

const HOUR = 3_600_000;
const MONTHLY: KeyBudget = { limit: 5_000_000, window: 'month', timeZone: 'Europe/Berlin', onExhausted: 'reject' };

describe('a rotated key', () => {
  test('a rotated key keeps its ID, terms and caller, and the old secret works until the end of the overlap', async () => {
    using folder = tempFolder();
    const { keys, clock, close } = await open(folder.file);
    const old = await keys.create({ name: 'a', scopes: ['chat'], labels: { team: 'x' }, budgets: [MONTHLY] });
    const before = keys.authenticate(`Bearer ${old.key}`).caller;
    const made = await keys.rotate(old.info.id, HOUR);
    expect(made?.key).toMatch(new RegExp(`^sb_live_${old.info.id}_[0-9A-Za-z_-]{43}$`));
    expect(made?.info).toMatchObject({
      ...old.info,
      lastUsedAt: MORNING,
      rotatedAt: MORNING,
      overlapEndsAt: MORNING + HOUR,
    });
    // The caller must be the same object, so that counts by caller continue.
    expect(keys.authenticate(`Bearer ${made!.key}`).caller).toBe(before);
    expect(keys.authenticate(`Bearer ${old.key}`).caller).toBe(before);
    clock.now += HOUR - 1;
    expect(reasonOf(keys, old.key)).toBeNull();
    clock.now += 1;
    expect([reasonOf(keys, old.key), reasonOf(keys, made!.key)]).toEqual(['rotated', null]);
    await close();
  });

  test('a rotated key can be installed with either secret during the overlap, and only with the new one after it', async () => {
    using folder = tempFolder();
    const { keys, clock, close } = await open(folder.file);
    const old = 'sb_live_abc123_abcdefghij_lmnopqrst-v';
    await keys.install(old);
    const made = await keys.rotate('abc123', HOUR);
    for (const key of [old, made!.key]) expect((await keys.install(key)).id).toBe('abc123');
    clock.now += HOUR;
    expect((await keys.install(made!.key)).id).toBe('abc123');
    await expect(keys.install(old)).rejects.toThrow('The key abc123 was rotated, and this is its old secret');
    await close();
  });

  test('a revoked, expired or unknown key cannot be rotated, nor can any key with an overlap out of range', async () => {
    using folder = tempFolder();
    const { keys, clock, close } = await open(folder.file);
    const revoked = await keys.create({ name: 'a', scopes: ['chat'] });
    await keys.revoke(revoked.info.id);
    const expired = await keys.create({ name: 'b', scopes: ['chat'], expiresAt: MORNING + 5 });
    clock.now += 5;
    for (const id of [revoked.info.id, expired.info.id, 'nobody', '', revoked.key, "' OR 1 --"]) {
      expect(await keys.rotate(id, 0)).toBeNull();
    }
    const good = await keys.create({ name: 'c', scopes: ['chat'] });
    for (const overlap of [-1, 0.5, 30 * 24 * HOUR + 1, Number.NaN]) {
      await expect(keys.rotate(good.info.id, overlap)).rejects.toThrow(KeyTermsError);
    }
    expect(reasonOf(keys, good.key)).toBeNull();
    await close();
  });
});

describe('the last use', () => {
  const rowOf = async (store: SqlStore) =>
    (await store.query<{ used: number | null }>({ sql: 'SELECT last_used AS used FROM keys' }))[0]?.used;

  test('the last use of a key is known at once without a write, and is written at most once a minute and at the end', async () => {
    using folder = tempFolder();
    const { keys, store, clock, close } = await open(folder.file);
    const { key, info } = await keys.create({ name: 'a', scopes: ['chat'] });
    expect((await keys.get(info.id))?.lastUsedAt).toBeNull();
    const calls: string[] = [];
    for (const name of ['append', 'commit'] as const) {
      const write = store[name].bind(store);
      Object.assign(store, { [name]: (writes: readonly Write[]) => calls.push(name) && write(writes) });
    }
    clock.now += 10;
    for (let i = 0; i < 100; i++) keys.authenticate(`Bearer ${key}`);
    keys.authenticate(`Bearer ${key.slice(0, -1)}`);
    expect((await keys.get(info.id))?.lastUsedAt).toBe(MORNING + 10);
    clock.now = MORNING + 59_999;
    await keys.refresh();
    expect(calls).toEqual([]);
    expect(await rowOf(store)).toBeNull();
    clock.now += 1;
    for (let i = 0; i < 3; i++) await keys.refresh();
    await store.flush();
    expect(calls).toEqual(['append']);
    expect(await rowOf(store)).toBe(MORNING + 10);
    keys.authenticate(`Bearer ${key}`);
    await close();
    const after = await open(folder.file, clock);
    expect((await after.keys.get(info.id))?.lastUsedAt).toBe(MORNING + 60_000);
    await after.close();
  });

  test('the last use of a key ignores denied requests and never goes back', async () => {
    using folder = tempFolder();
    const server = await open(folder.file);
    const other = await open(folder.file, { now: MORNING + HOUR });
    const { key, info } = await server.keys.create({ name: 'a', scopes: ['chat'] });
    await other.keys.refresh();
    other.keys.authenticate(`Bearer ${key}`);
    await other.close();
    server.keys.authenticate(`Bearer ${key}`);
    await server.keys.revoke(info.id);
    server.clock.now += 2 * HOUR;
    server.keys.authenticate(`Bearer ${key}`);
    await server.close();
    const after = await open(folder.file);
    expect((await after.keys.get(info.id))?.lastUsedAt).toBe(MORNING + HOUR);
    await after.close();
  });
});

describe('the terms of a key', () => {
  test('the terms of a key are unchanged when they are read, in memory and after a restart', async () => {
    using folder = tempFolder();
    const before = await open(folder.file);
    const terms = {
      name: 'Ünïcode “name”',
      scopes: ['chat', 'admin'] as const,
      labels: { team: 'a', __proto__x: 'b' },
      models: ['m1', 'm2'],
      expiresAt: MORNING + HOUR,
      limits: { requestsPerMinute: 60, tokensPerMinute: null, concurrentStreams: 1 },
      budgets: [MONTHLY, { ...MONTHLY, onExhausted: 'downgrade', limit: 0 }] as const,
    };
    const { key, info } = await before.keys.create(terms);
    expect(info).toMatchObject(terms);
    await before.close();
    const after = await open(folder.file);
    expect(await after.keys.get(info.id)).toEqual(info);
    const { caller } = after.keys.authenticate(`Bearer ${key}`);
    expect(caller).toMatchObject({ keyId: info.id, limits: terms.limits, budgets: terms.budgets });
    await after.close();
  });

  const budgets = (...over: Partial<KeyBudget>[]) => ({ budgets: over.map((one) => ({ ...MONTHLY, ...one })) });
  const limits = (over: object) => ({
    limits: { requestsPerMinute: null, tokensPerMinute: null, concurrentStreams: null, ...over },
  });
  test.each([
    ['scopes', { scopes: [] }],
    ['name', { name: 'x'.repeat(201) }],
    ['name', { name: 'two\nlines' }],
    ['name', { name: 'sb_live_abc_defghijkl' }],
    ['labels', { labels: { '': 'x' } }],
    ['labels', { labels: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`l${i}`, ''])) }],
    ['labels.team', { labels: { team: '\u001b[31m' } }],
    ['models', { models: [] }],
    ['models[1]', { models: ['a', ''] }],
    ['limits.requests_per_minute', limits({ requestsPerMinute: 0 })],
    ['limits.tokens_per_minute', limits({ tokensPerMinute: 1.5 })],
    ['limits.concurrent_streams', limits({ concurrentStreams: 1e10 })],
    ['budgets[0].limit_credits', budgets({ limit: -1 })],
    ['budgets[0].limit_credits', budgets({ limit: 0.5 })],
    ['budgets[1].time_zone', budgets({}, { timeZone: 'Mars/Olympus' })],
    ['budgets[1]', budgets({}, { limit: 7 })],
  ])('terms with a wrong %s are refused, and no key is created', async (param, over) => {
    using folder = tempFolder();
    const { keys, close } = await open(folder.file);
    const made = keys.create({ name: 'a', scopes: ['chat'], ...over });
    expect(await made.catch((error: unknown) => error)).toMatchObject({ name: 'KeyTermsError', param });
    expect(await everyKey(keys)).toEqual([]);
    expect(await keys.trail({ keyId: null, limit: 9 })).toEqual([]);
    await close();
  });
});
