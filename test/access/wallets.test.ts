import { describe, expect, test } from 'bun:test';
import { KeyTermsError } from '../../src/access/terms.ts';
import { type SqlWrite, write } from '../../src/store/sql/statement.ts';
import { tempFolder } from '../store/support.ts';
import { everyKey, MORNING, open, reasonOf } from './support.ts';

const WALLET = `0x${'ab'.repeat(20)}`;
const OTHER = `0x${'12'.repeat(20)}`;
const callerOf = (opened: Awaited<ReturnType<typeof open>>, key: string) =>
  opened.keys.authenticate(`Bearer ${key}`).caller;
const noted = (holder: string): SqlWrite => write({ sql: 'UPDATE keys SET name = ? WHERE wallet IS NOT NULL' }, holder);

describe('the wallets that a key may name', () => {
  test('the wallets of a key are stored in lower case and once each, in memory, after a restart and in the trail', async () => {
    using folder = tempFolder();
    const before = await open(folder.file);
    const written = [OTHER, WALLET.toUpperCase().replace('0X', '0x'), WALLET];
    const { key, info } = await before.keys.create({ name: 'a', scopes: ['chat'], holders: written });
    expect(info).toMatchObject({ holders: [OTHER, WALLET], holder: null });
    expect(callerOf(before, key)?.holders).toEqual(new Set([OTHER, WALLET]));
    const [line] = await before.keys.trail({ keyId: info.id, limit: 1 });
    expect(line?.details).toMatchObject({ wallets: [OTHER, WALLET], wallet: null });
    await before.close();
    const after = await open(folder.file);
    expect(await after.keys.get(info.id)).toMatchObject({ ...info, lastUsedAt: MORNING });
    expect(callerOf(after, key)?.holders).toEqual(new Set([OTHER, WALLET]));
    await after.close();
  });

  test('a key without a list of wallets allows all wallets, and shows no list', async () => {
    using folder = tempFolder();
    const opened = await open(folder.file);
    for (const over of [{}, { holders: null }]) {
      const { key, info } = await opened.keys.create({ name: 'a', scopes: ['chat'], ...over });
      expect(info.holders).toBeNull();
      expect(Object.keys(callerOf(opened, key)!)).not.toContain('wallets');
    }
    await opened.close();
  });

  const addresses = (n: number) => Array.from({ length: n }, (_, i) => `0x${String(i).padStart(40, '0')}`);
  test('a key may list at most a hundred wallets', async () => {
    using folder = tempFolder();
    const { keys, close } = await open(folder.file);
    const { info } = await keys.create({ name: 'a', scopes: ['chat'], holders: addresses(100) });
    expect(info.holders).toHaveLength(100);
    const more = keys.create({ name: 'a', scopes: ['chat'], holders: addresses(101) });
    expect(await more.catch((error: unknown) => error)).toMatchObject({
      param: 'wallets',
      message: 'The list of wallets may have at most 100 items.',
    });
    await close();
  });

  const secret = `0x${'c0ffee'.repeat(10)}abcd`;
  test.each([
    ['wallets', []],
    ['wallets[0]', ['']],
    ['wallets[1]', [WALLET, WALLET.slice(0, -1)]],
    ['wallets[0]', [WALLET.slice(2)]],
    ['wallets[0]', [` ${WALLET}`]],
    ['wallets[0]', [`${WALLET}\n`]],
    ['wallets[0]', [secret]],
  ])(
    'wallets are refused if %s of %j is wrong, without repeating the value, and no key is created',
    async (param, wallets) => {
      using folder = tempFolder();
      const { keys, close } = await open(folder.file);
      const error = await keys
        .create({ name: 'a', scopes: ['chat'], holders: wallets })
        .catch((cause: unknown) => cause);
      expect(error).toMatchObject({ name: 'KeyTermsError', param });
      expect(String(error)).not.toContain('c0ffee');
      expect(await everyKey(keys)).toEqual([]);
      await close();
    },
  );
});

describe('a key of a wallet', () => {
  test('the caller of a wallet’s key is the wallet: one caller for all its keys, before and after a rotation, in every process', async () => {
    using folder = tempFolder();
    const server = await open(folder.file);
    const command = await open(folder.file);
    const first = await server.keys.createForHolder(WALLET.toUpperCase().replace('0X', '0x'), 'laptop');
    expect(first.info).toMatchObject({ name: 'laptop', scopes: ['chat', 'route'], holder: WALLET, holders: null });
    expect(first.info).toMatchObject({ limits: null, budgets: [], labels: {}, models: null, expiresAt: null });
    const caller = callerOf(server, first.key);
    expect(caller).toEqual({
      keyId: WALLET,
      scopes: new Set(['chat', 'route', 'embed']),
      labels: {},
      models: null,
      limits: null,
      budgets: [],
    });
    const second = await command.keys.createForHolder(WALLET, '');
    const rotated = await command.keys.rotate(first.info.id, 60_000);
    expect(rotated?.info.holder).toBe(WALLET);
    await server.keys.refresh();
    for (const { key } of [first, second, rotated!]) expect(callerOf(server, key)).toBe(caller);
    const other = await server.keys.createForHolder(OTHER, '');
    expect(callerOf(server, other.key)?.keyId).toBe(OTHER);
    await server.keys.revoke(first.info.id);
    expect([reasonOf(server.keys, first.key), reasonOf(server.keys, second.key)]).toEqual(['revoked', null]);
    await Promise.all([server.close(), command.close()]);
  });

  test('a key of a wallet is in the trail with the wallet that created it, and grants to the key go to the wallet', async () => {
    using folder = tempFolder();
    const { keys, close } = await open(folder.file);
    const { info } = await keys.createForHolder(WALLET, 'laptop');
    const plain = await keys.create({ name: 'plain', scopes: ['chat'] });
    const by = { kind: 'cli', name: 'alice' } as const;
    expect(await keys.grant(info.id, noted, { credits: 5, note: '' }, by)).toBe(true);
    expect((await keys.get(info.id))?.name).toBe(WALLET);
    expect(await keys.grant(plain.info.id, noted, { credits: 5, note: '' }, by)).toBe(true);
    expect((await keys.get(info.id))?.name).toBe(plain.info.id);
    expect(await keys.trail({ keyId: info.id, limit: 9 })).toMatchObject([
      { action: 'grant', details: { credits: 5, wallet: WALLET } },
      { action: 'create', actor: { kind: 'wallet', name: WALLET }, requestId: null, details: { wallet: WALLET } },
    ]);
    expect((await keys.trail({ keyId: plain.info.id, limit: 1 }))[0]?.details).toEqual({ credits: 5, note: '' });
    expect(await keys.grant('nobody', noted, { credits: 5, note: '' }, by)).toBe(false);
    await close();
  });

  test('a key of a wallet is refused for a malformed address or an invalid name', async () => {
    using folder = tempFolder();
    const { keys, close } = await open(folder.file);
    for (const wallet of ['', 'wallet', WALLET.slice(1), `${WALLET}0`]) {
      await expect(keys.createForHolder(wallet, '')).rejects.toThrow('A wallet must be given by its address');
    }
    await expect(keys.createForHolder(WALLET, 'two\nlines')).rejects.toThrow(KeyTermsError);
    expect(await everyKey(keys)).toEqual([]);
    await close();
  });

  test('a key of a wallet survives a restart, and is listed with its wallet', async () => {
    using folder = tempFolder();
    const before = await open(folder.file);
    const { key, info } = await before.keys.createForHolder(WALLET, 'laptop');
    await before.close();
    const after = await open(folder.file);
    expect(await everyKey(after.keys)).toEqual([info]);
    expect(await after.keys.ofHolder(WALLET)).toEqual([info]);
    expect(callerOf(after, key)?.keyId).toBe(WALLET);
    await after.close();
  });
});

describe('the keys of a wallet', () => {
  test('a wallet has at most 20 valid keys, however many are requested at the same time by however many processes', async () => {
    using folder = tempFolder();
    const all = [await open(folder.file), await open(folder.file), await open(folder.file)] as const;
    const requests = Array.from({ length: 24 }, (_, i) => all[i % 3]!.keys.createForHolder(WALLET, `key ${i}`));
    const made = await Promise.allSettled(requests);
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
    const refused = made.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    for (const error of refused) {
      expect(error).toBeInstanceOf(KeyTermsError);
      expect(error.message).toStartWith('A wallet has at most 20 valid keys');
    }
    const [{ keys }] = all;
    expect(await keys.trail({ keyId: null, limit: 99 })).toHaveLength(20);
    const own = await keys.ofHolder(WALLET);
    expect(own).toHaveLength(20);
    // Another wallet can create a key, and this wallet can after one of its keys is revoked.
    await keys.createForHolder(OTHER, '');
    await keys.revoke(own[7]!.id);
    await keys.createForHolder(WALLET, 'in its place');
    await expect(keys.createForHolder(WALLET, '')).rejects.toThrow('at most 20 valid keys');
    await Promise.all(all.map(({ close }) => close()));
  });

  test('a wallet creates at most 50 keys a day; a refused key leaves the others unchanged', async () => {
    using folder = tempFolder();
    const opened = await open(folder.file);
    const { keys, clock } = opened;
    let last = '';
    for (let i = 0; i < 50; i++) last = (await keys.createForHolder(WALLET, `key ${i}`, { isAlone: true })).key;
    await expect(keys.createForHolder(WALLET, 'more', { isAlone: true })).rejects.toThrow('at most 50 within 24 hours');
    expect(callerOf(opened, last)?.keyId).toBe(WALLET);
    expect(await keys.ofHolder(WALLET)).toHaveLength(1);
    await keys.createForHolder(OTHER, '');
    clock.now += 86_400_000;
    await keys.createForHolder(WALLET, 'the day after', { isAlone: true });
    expect(callerOf(opened, last)).toBeNull();
    await opened.close();
  });

  test('the keys of a wallet are revoked together except one, each with its entry; other wallets and keys stay', async () => {
    using folder = tempFolder();
    const server = await open(folder.file);
    const command = await open(folder.file);
    const plain = await server.keys.create({ name: 'plain', scopes: ['chat'] });
    const other = await server.keys.createForHolder(OTHER, '');
    const own = [
      await server.keys.createForHolder(WALLET, 'kept'),
      await command.keys.createForHolder(WALLET, 'made by another process'),
      await server.keys.createForHolder(WALLET, 'revoked before'),
      await server.keys.createForHolder(WALLET, 'lost'),
    ] as const;
    await server.keys.revoke(own[2].info.id);
    server.clock.now += 5;
    expect(await server.keys.revokeOfHolder(WALLET, own[0].info.id)).toBe(2);
    const reasons = () => [...own, other, plain].map(({ key }) => reasonOf(server.keys, key));
    expect(reasons()).toEqual([null, 'revoked', 'revoked', 'revoked', null, null]);
    const lines = await server.keys.trail({ keyId: null, limit: 3 });
    expect(
      lines
        .slice(0, 2)
        .map(({ subject }) => subject.id)
        .sort(),
    ).toEqual([own[1].info.id, own[3].info.id].sort());
    for (const line of lines.slice(0, 2)) {
      expect(line).toMatchObject({ action: 'revoke', actor: { kind: 'wallet', name: WALLET }, time: MORNING + 5 });
    }
    expect(lines[2]).toMatchObject({ action: 'revoke', actor: { kind: 'server' }, subject: { id: own[2].info.id } });
    expect((await server.keys.get(own[2].info.id))?.revokedAt).toBe(MORNING);
    expect(await server.keys.revokeOfHolder(WALLET, null)).toBe(1);
    expect(await server.keys.revokeOfHolder(WALLET, null)).toBe(0);
    expect(await server.keys.ofHolder(WALLET)).toEqual([]);
    expect(reasons().slice(4)).toEqual([null, null]);
    expect(await server.keys.trail({ keyId: null, limit: 99 })).toHaveLength(6 + 1 + 2 + 1);
    await Promise.all([server.close(), command.close()]);
  });
});
