import { expect, spyOn, test } from 'bun:test';
import { openLogins } from '../../src/access/logins.ts';
import { SERVER } from '../../src/store/trail.ts';
import { openInMemory } from '../store/implementations.ts';

const HOUR_MS = 3_600_000;
const DRAFT = { user: 'u', key: null, keyHash: null, browser: '', from: null, refreshToken: null };

test('a read that began before a login was used does not undo its use', async () => {
  const store = await openInMemory();
  let now = 0;
  const logins = await openLogins({ store, now: () => now });
  const { login, value } = await logins.begin(DRAFT, SERVER);
  const arriving = Promise.withResolvers<void>();
  const read = store.logins.changedAfter.bind(store.logins);
  spyOn(store.logins, 'changedAfter').mockImplementation(async (number) => {
    const found = await read(number);
    await arriving.promise;
    return found;
  });
  now += 11 * HOUR_MS;
  await store.commit([store.logins.confirm(login.id, now, null)]);
  const reading = logins.refresh();
  expect(logins.of(value)).toMatchObject({ usedAt: now });
  arriving.resolve();
  await reading;
  now += 11 * HOUR_MS;
  expect(logins.of(value)).toMatchObject({ id: login.id, usedAt: now });
  logins.close();
  await store.close();
});
