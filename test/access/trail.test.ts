import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { KeyTermsError } from '../../src/access/terms.ts';
import { type SqlWrite, write } from '../../src/store/sql/statement.ts';
import type { Actor } from '../../src/store/trail.ts';
import { tempFolder } from '../store/support.ts';
import { runHere } from '../support/run-here.ts';
import { MORNING, open, reasonOf } from './support.ts';

const ALL = { keyId: null, limit: 1_000 };
const ALICE: Actor = { kind: 'cli', name: 'alice' };
const ADMIN: Actor = { kind: 'key', name: 'adm1n', requestId: 'req_1' };
const nothing = (): SqlWrite => write({ sql: 'UPDATE keys SET name = name WHERE 0' });

test('every change of a key is in the trail, newest first, with its actor; a refused change is not', async () => {
  using folder = tempFolder();
  const { keys, clock, close } = await open(folder.file);
  const { info } = await keys.create({ name: 'app', scopes: ['chat'], expiresAt: MORNING + 60_000 }, ALICE);
  clock.now += 1;
  await keys.rotate(info.id, 1_000, ADMIN);
  await keys.grant(info.id, nothing, { credits: 2.5, note: 'invoice' }, ALICE);
  await keys.revoke(info.id, ADMIN);
  expect(await keys.revoke(info.id, ALICE)).toBe(false);
  expect(await keys.rotate(info.id, 0, ALICE)).toBeNull();
  expect(await keys.grant(info.id, nothing, { credits: 1, note: '' }, ALICE)).toBe(false);
  await keys.install('sb_live_abc123_abcdefghij_lmnopqrst-v');
  const admin = { actor: { kind: 'key', name: 'adm1n' }, requestId: 'req_1' };
  const alice = { actor: { kind: 'cli', name: 'alice' }, requestId: null };
  expect(await keys.trail({ keyId: info.id, limit: 9 })).toMatchObject([
    { ...admin, action: 'revoke', details: {} },
    { ...alice, action: 'grant', details: { credits: 2.5, note: 'invoice' } },
    { ...admin, action: 'rotate', details: { overlap_ends_at: '2026-11-20T09:30:01.001Z' } },
    { ...alice, action: 'create', time: MORNING, details: { name: 'app', scopes: ['chat'], models: null } },
  ]);
  expect(await keys.trail({ keyId: null, limit: 1 })).toMatchObject([
    { action: 'install', subject: { kind: 'key', id: 'abc123' }, actor: { kind: 'server', name: null } },
  ]);
  await close();
});

test('the database refuses to change or shorten the trail', async () => {
  using folder = tempFolder();
  const { keys, close } = await open(folder.file);
  await keys.create({ name: 'app', scopes: ['chat'] }, ALICE);
  const db = new Database(folder.file);
  for (const sql of ["UPDATE trail SET actor = 'bob'", "UPDATE trail_words SET words = 'bob'", 'DELETE FROM trail']) {
    expect(() => db.run(sql)).toThrow('the trail is append-only');
  }
  db.close();
  expect(await keys.trail(ALL)).toHaveLength(1);
  await close();
});

test('a change and its entry in the trail are committed together or not at all', async () => {
  using folder = tempFolder();
  const { keys, close } = await open(folder.file);
  const { key, info } = await keys.create({ name: 'app', scopes: ['chat'] }, ALICE);
  const bad = (): SqlWrite => write({ sql: 'INSERT INTO keys (id) VALUES (NULL)' });
  await expect(keys.grant(info.id, bad, { credits: 1, note: '' }, ALICE)).rejects.toThrow('NOT NULL');
  expect(await keys.trail(ALL)).toHaveLength(1);
  await expect(keys.grant(info.id, nothing, { credits: 1, note: key }, ALICE)).rejects.toThrow(KeyTermsError);
  expect(await keys.trail(ALL)).toHaveLength(1);
  await close();
});

test('rotations by many processes at the same time each return a secret; only the last two secrets work', async () => {
  using folder = tempFolder();
  const { keys, close } = await open(folder.file, { now: Date.now() });
  const first = await keys.create({ name: 'app', scopes: ['chat'] });
  const run = (...args: string[]) => runHere(['keys', ...args, '--data', folder.path]);
  const rotated = await Promise.all(Array.from({ length: 5 }, () => run('rotate', first.info.id)));
  expect(rotated.map(({ code, err }) => ({ code, err }))).toEqual(Array(5).fill({ code: 0, err: '' }));
  await keys.refresh();
  const secrets = [first.key, ...rotated.map(({ out }) => out.split('\n')[0]!)];
  expect(new Set(secrets).size).toBe(6);
  expect(secrets.filter((key) => reasonOf(keys, key) === null)).toHaveLength(2);
  expect((await keys.trail(ALL)).map(({ action }) => action)).toEqual([...Array(5).fill('rotate'), 'create']);
  await close();
});

test('if many processes revoke and rotate a key at the same time, one revocation succeeds, no change follows, and no secret works', async () => {
  using folder = tempFolder();
  const { keys, close } = await open(folder.file, { now: Date.now() });
  const { key, info } = await keys.create({ name: 'app', scopes: ['chat'] });
  const run = (...args: string[]) => runHere(['keys', ...args, '--data', folder.path]);
  const [rotated, revoked] = await Promise.all([
    Promise.all(Array.from({ length: 3 }, () => run('rotate', info.id))),
    Promise.all(Array.from({ length: 3 }, () => run('revoke', info.id))),
  ]);
  expect(revoked.map(({ code }) => code)).toEqual([0, 0, 0]);
  await keys.refresh();
  const made = rotated.filter(({ code }) => code === 0).map(({ out }) => out.split('\n')[0]!);
  for (const secret of [key, ...made]) expect(reasonOf(keys, secret)).not.toBeNull();
  const actions = (await keys.trail(ALL)).map(({ action }) => action);
  expect(actions).toEqual(['revoke', ...Array(made.length).fill('rotate'), 'create']);
  for (const { code, err } of rotated) if (code !== 0) expect(err).toContain('No valid key has this ID');
  await close();
});
