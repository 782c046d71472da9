import { expect, test } from 'bun:test';
import { createHash, randomBytes } from 'node:crypto';
import { hashOf } from '../../src/access/key.ts';
import type { ImportedKey } from '../../src/access/key-import.ts';
import { strengthOf } from '../../src/access/key-strength.ts';
import { SERVER } from '../../src/store/trail.ts';
import { tempFolder } from '../store/support.ts';
import { everyKey, MORNING, open, reasonOf } from './support.ts';

const HOUR = 3_600_000;
const foreign = () => `sk-${randomBytes(16).toString('base64url')}`;
const stated = (key: string, terms: ImportedKey['terms'] = {}, isSuspended = false): ImportedKey => ({
  hash: createHash('sha256').update(key).digest(),
  terms,
  isSuspended,
});

test('an imported key works on every server, keeps its ID after a rotation, and its old text ends with the overlap', async () => {
  using folder = tempFolder();
  const { keys, clock, close } = await open(folder.file);
  const other = await open(folder.file, clock);
  const key = foreign();
  expect(reasonOf(keys, key)).toBe('malformed');
  const [done] = await keys.import([stated(key, { name: 'app' })], SERVER);
  const { id } = done!.info!;
  await other.keys.refresh();
  for (const one of [keys, other.keys]) expect(one.authenticate(`Bearer ${key}`).caller?.keyId).toBe(id);
  expect(reasonOf(keys, `${key}x`)).toBe('unknown');
  const rotated = await keys.rotate(id, HOUR);
  expect([reasonOf(keys, key), reasonOf(keys, rotated!.key)]).toEqual([null, null]);
  clock.now += HOUR;
  expect([reasonOf(keys, key), reasonOf(keys, rotated!.key)]).toEqual(['rotated', null]);
  await keys.rotate(id, 0);
  expect(reasonOf(keys, key)).toBe('unknown');
  // A repeated import must not bring the old text back.
  expect((await keys.import([stated(key, { name: 'app' })], SERVER)).map(({ action }) => action)).toEqual(['same']);
  expect(reasonOf(keys, key)).toBe('unknown');
  await other.close();
  await close();
});

test('a revoked imported key stays revoked, and a suspended key is not resumed', async () => {
  using folder = tempFolder();
  const { keys, close } = await open(folder.file);
  const [revoked, suspended, blocked] = [foreign(), foreign(), foreign()];
  const all = [stated(revoked), stated(suspended), stated(blocked, {}, true)];
  const [first, second] = await keys.import(all, SERVER);
  expect([revoked, suspended, blocked].map((key) => reasonOf(keys, key))).toEqual([null, null, 'suspended']);
  await keys.revoke(first!.info!.id);
  await keys.suspend(second!.info!.id);
  expect((await keys.import(all, SERVER)).map(({ action }) => action)).toEqual(['refuse', 'same', 'same']);
  expect([revoked, suspended].map((key) => reasonOf(keys, key))).toEqual(['revoked', 'suspended']);
  await close();
});

test('the hash of a key that was not imported is refused, and so is a second row with the same hash', async () => {
  using folder = tempFolder();
  const { keys, close } = await open(folder.file);
  const own = await keys.create({ name: 'own', scopes: ['chat'] });
  const twice = stated(foreign());
  const done = await keys.import([{ ...twice, hash: hashOf(own.key) }, twice, twice], SERVER);
  expect(done.map(({ action }) => action)).toEqual(['refuse', 'create', 'refuse']);
  expect((await everyKey(keys)).length).toBe(2);
  await close();
});

test('two imports at the same time create each key once', async () => {
  using folder = tempFolder();
  const { keys, clock, close } = await open(folder.file);
  const other = await open(folder.file, clock);
  const all = Array.from({ length: 250 }, () => stated(foreign()));
  const done = await Promise.all([keys.import(all, SERVER), other.keys.import(all.toReversed(), SERVER)]);
  expect(
    done
      .flat()
      .map(({ action }) => action)
      .filter((action) => action === 'create').length,
  ).toBe(250);
  expect(done.flat().every(({ action }) => action !== 'refuse')).toBe(true);
  expect((await everyKey(keys)).length).toBe(250);
  await other.close();
  await close();
});

test('each imported key has an entry in the audit trail, with its terms and without its hash', async () => {
  using folder = tempFolder();
  const { keys, close } = await open(folder.file);
  const key = foreign();
  const [done] = await keys.import([stated(key, { name: 'app', models: ['best'] })], SERVER);
  await keys.import([stated(key, { models: ['best', 'other'] })], SERVER);
  const trail = await keys.trail({ keyId: done!.info!.id, limit: 9 });
  expect(trail.map(({ action, time }) => [action, time])).toEqual([
    ['change', MORNING],
    ['create', MORNING],
  ]);
  expect(trail[1]!.details).toMatchObject({
    name: 'app',
    models: ['best'],
    imported: true,
    scopes: ['chat', 'embed', 'route'],
  });
  expect(JSON.stringify(trail)).not.toContain(createHash('sha256').update(key).digest('hex'));
  await close();
});

test('the estimate accepts random keys of 128 bits in usual forms, and no key that a person made up', () => {
  for (let i = 0; i < 200; i++) {
    const random = createHash('sha256').update(`key ${i}`).digest().subarray(0, 24);
    const uuid = random.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
    expect(strengthOf(`sk-${random.toString('base64url')}`)).toBeGreaterThanOrEqual(128);
    expect(strengthOf(random.toString('hex'))).toBeGreaterThanOrEqual(128);
    expect(strengthOf(`sk-${uuid}`)).toBeGreaterThanOrEqual(128);
  }
  const MADE_UP = [
    ...['', 'sk-1234', 'sk-test', 'password', 'sk-abcdefghijklmnopqrstuvwxyz0123456789', `sk-${'a'.repeat(64)}`],
    ...[
      'sk-correct-horse-battery-staple-for-the-billing-team',
      `sk-${'abc123'.repeat(20)}`,
      'sk-2024-01-01-production-key',
    ],
    ...['MyCompany-Production-Key-For-Billing-2024', '1'.repeat(100), '0123456789'.repeat(5), 'deadbeef'.repeat(8)],
  ];
  expect(MADE_UP.filter((key) => strengthOf(key) >= 128)).toEqual([]);
});
