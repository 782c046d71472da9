import { describe, expect, test } from 'bun:test';
import type { KeyBudget } from '../../src/core/people/caller.ts';
import { tempFolder } from '../store/support.ts';
import { waitFor } from '../support/answers.ts';
import { MORNING, open, reasonOf } from './support.ts';

const DAILY: KeyBudget = { limit: 1_000_000, window: 'day', timeZone: 'UTC', onExhausted: 'reject' };
const GRANT = { name: 'a', scopes: ['chat'], budgets: [DAILY] } as const;

describe('the budgets of keys', () => {
  test('the budgets of keys are those of all valid keys that have budgets', async () => {
    using folder = tempFolder();
    const { keys, clock, close } = await open(folder.file);
    await keys.create({ name: 'none', scopes: ['chat'] });
    const [kept, revoked, expired] = [
      await keys.create(GRANT),
      await keys.create(GRANT),
      await keys.create({ ...GRANT, expiresAt: MORNING + 5 }),
    ];
    const ids = () => keys.budgets().map(({ keyId }) => keyId);
    expect(ids().sort()).toEqual([kept, revoked, expired].map(({ info }) => info.id).sort());
    await keys.revoke(revoked.info.id);
    clock.now += 5;
    expect(keys.budgets()).toMatchObject([{ keyId: kept.info.id, budgets: [DAILY] }]);
    await close();
  });

  test('a change of budgets is reported, whether it was made here or in another process; other changes are not', async () => {
    using folder = tempFolder();
    const command = await open(folder.file);
    await command.keys.create(GRANT);
    let reports = 0;
    const onChange = () => void reports++;
    const server = await open(folder.file, undefined, { onChange });
    const step = async (change: Promise<unknown>) => {
      const before = reports;
      await change;
      await server.keys.refresh();
      return reports - before;
    };
    expect(reports).toBe(0);
    expect(await step(server.keys.create({ name: 'plain', scopes: ['chat'] }))).toBe(0);
    const own = await server.keys.create(GRANT);
    expect(reports).toBe(1);
    expect(await step(server.keys.rotate(own.info.id, 0))).toBe(0);
    const other = await command.keys.create(GRANT);
    expect(await step(Promise.resolve())).toBe(1);
    expect(server.keys.budgets()).toHaveLength(3);
    expect(await step(command.keys.revoke(other.info.id))).toBe(1);
    expect(await step(server.keys.revoke(own.info.id))).toBe(1);
    expect(server.keys.budgets()).toHaveLength(1);
    await Promise.all([server.close(), command.close()]);
  });
});

describe('a new key with budgets', () => {
  /** A server that applies budgets only when the test tells it to. */
  async function slow(file: string) {
    const ends: { resolve: () => void; reject: (cause: Error) => void }[] = [];
    const onChange = () => new Promise<void>((resolve, reject) => void ends.push({ resolve, reject }));
    /** Waits until this many changes wait to be applied. */
    const changes = (count: number) => waitFor(() => ends.length === count);
    return { ...(await open(file, undefined, { onChange })), ends, changes };
  }

  test('a new key with budgets works only when its budgets count', async () => {
    using folder = tempFolder();
    const command = await open(folder.file);
    const server = await slow(folder.file);
    const { key, info } = await command.keys.create(GRANT);
    const plain = await command.keys.create({ name: 'plain', scopes: ['chat'] });
    const refreshed = server.keys.refresh();
    await server.changes(1);
    // `budgets()` already contains the new budgets. Keys without budgets do not wait.
    expect(server.keys.budgets()).toMatchObject([{ keyId: info.id }]);
    expect([reasonOf(server.keys, key), reasonOf(server.keys, plain.key)]).toEqual(['unknown', null]);
    await server.keys.refresh();
    expect(reasonOf(server.keys, key)).toBe('unknown');
    server.ends[0]!.resolve();
    await refreshed;
    expect(reasonOf(server.keys, key)).toBeNull();
    expect(server.ends).toHaveLength(1);
    await Promise.all([server.close(), command.close()]);
  });

  test('a waiting key that is revoked never works, and one that is rotated works only with its new secret', async () => {
    using folder = tempFolder();
    const command = await open(folder.file);
    const server = await slow(folder.file);
    const revoked = await command.keys.create(GRANT);
    const rotated = await command.keys.create(GRANT);
    const refreshed = server.keys.refresh();
    await server.changes(1);
    const made = await command.keys.rotate(rotated.info.id, 0);
    await command.keys.revoke(revoked.info.id);
    const again = server.keys.refresh();
    await server.changes(2);
    for (const { resolve } of server.ends) resolve();
    await Promise.all([refreshed, again]);
    const reasons = [revoked.key, rotated.key, made!.key].map((key) => reasonOf(server.keys, key));
    expect(reasons).toEqual(['revoked', 'rotated', null]);
    await Promise.all([server.close(), command.close()]);
  });

  test('each of two keys that are created at the same time is returned only when its budgets count', async () => {
    using folder = tempFolder();
    const server = await slow(folder.file);
    const working: boolean[] = [];
    const creating = [1, 2].map(async () => {
      const { key } = await server.keys.create(GRANT);
      working.push(reasonOf(server.keys, key) === null);
    });
    await server.changes(1);
    await waitFor(() => server.keys.budgets().length === 2);
    await waitFor(() => {
      for (const { resolve } of server.ends) resolve();
      return working.length === 2;
    });
    await Promise.all(creating);
    expect(working).toEqual([true, true]);
    await server.close();
  });

  test('a new key is tried again if its budgets could not be applied', async () => {
    using folder = tempFolder();
    const server = await slow(folder.file);
    const creating = server.keys.create(GRANT);
    await server.changes(1);
    server.ends[0]!.reject(new Error('the ledger cannot count now'));
    const { key } = await creating;
    expect(reasonOf(server.keys, key)).toBe('unknown');
    const refreshed = server.keys.refresh();
    await server.changes(2);
    server.ends[1]!.resolve();
    await refreshed;
    expect(reasonOf(server.keys, key)).toBeNull();
    await server.close();
  });

  test('a waiting key does not delay a revocation', async () => {
    using folder = tempFolder();
    const command = await open(folder.file);
    const server = await slow(folder.file);
    const plain = await server.keys.create({ name: 'plain', scopes: ['chat'] });
    const creating = server.keys.create(GRANT);
    await server.changes(1);
    await command.keys.revoke(plain.info.id);
    await server.keys.refresh();
    expect(reasonOf(server.keys, plain.key)).toBe('revoked');
    server.ends[0]!.resolve();
    expect(reasonOf(server.keys, (await creating).key)).toBeNull();
    await Promise.all([server.close(), command.close()]);
  });
});
