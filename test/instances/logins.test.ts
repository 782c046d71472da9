import { expect, test } from 'bun:test';
import { openLogins } from '../../src/access/logins.ts';
import { SERVER } from '../../src/store/trail.ts';
import { waitFor } from '../support/answers.ts';
import { SharedWorld } from './world.ts';

const USER = { user: 'user_1', key: null, keyHash: null };

test('an instance accepts a login that started on another instance, and refuses the login once it has ended', async () => {
  const world = new SharedWorld();
  const [a, b] = await Promise.all([0, 1].map((slot) => openLogins({ store: world.open(slot), now: Date.now })));
  if (!a || !b) return expect.unreachable();
  const { login, value } = await a.begin({ ...USER, browser: 'x', from: null, refreshToken: 't' }, SERVER);
  // The promised time is one second; the test waits four times as long.
  await waitFor(() => b.of(value) !== null, 4_000);
  expect(await b.tokenOf(login, value)).toBe('t');
  expect(await b.tokenOf(login, `${value.slice(1)}A`)).toBeNull();
  // Only one of the two instances may renew the login.
  expect([await a.claim(login), await b.claim(login)]).toEqual([true, false]);
  expect(await a.end(login, SERVER)).toBe(true);
  expect(a.of(value)).toBeNull();
  await waitFor(() => b.of(value) === null, 4_000);
  for (const one of [a, b]) one.close();
});
