import { expect, test } from 'bun:test';
import { type Keys, openKeys } from '../../../src/access/keys.ts';
import { openPeople } from '../../../src/access/people.ts';
import { revokeKey } from '../../../src/admin/use-cases/keys.ts';
import { type PeopleDesk, removeUser } from '../../../src/admin/use-cases/people.ts';
import type { Caller } from '../../../src/core/people/caller.ts';
import { INHERITED, NO_TERMS } from '../../../src/core/people/people.ts';
import { SERVER } from '../../../src/store/trail.ts';
import { openInMemory } from '../../store/implementations.ts';

/** A lead and a member with two keys, while an operator works at the same time. */
async function stage() {
  const store = await openInMemory();
  let time = 0;
  const now = () => ++time;
  const people = await openPeople({ store, now });
  const keys = await openKeys({ store, now });
  const terms = { ...NO_TERMS, memberDefaults: NO_TERMS };
  const { id: team } = await people.createTeam({ name: 'red', ...terms }, SERVER);
  const member = { name: 'a', email: null, issuer: null, sub: null, team, role: 'member' as const, terms: INHERITED };
  const { id: user } = await people.createUser(member, SERVER);
  const make = async () => (await keys.create({ name: '', scopes: ['chat'], team, user })).info.id;
  const own = [await make(), await make()];
  const caller: Caller = {
    ...{ keyId: 'user_lead', user: 'user_lead', team, role: 'lead', scopes: new Set(), labels: {} },
    ...{ models: null, limits: null, budgets: [] },
  };
  /** Gives a key the scope `report` immediately before it is revoked. */
  const revoke: Keys['revoke'] = async (id, ...more) => {
    await keys.change(id, (before) => ({ ...before, scopes: ['report'] }));
    return await keys.revoke(id, ...more);
  };
  const close = async () => {
    keys.close();
    people.close();
    await store[Symbol.asyncDispose]();
  };
  return { people, keys, revoke, user, own, by: { caller, actor: SERVER }, close };
}

test('a lead who removes a user does not revoke a key to which an operator gives a higher scope at the same time', async () => {
  const { people, keys, revoke, user, own, by, close } = await stage();
  const desk: PeopleDesk = { people, keys: { read: (query) => keys.read(query), revoke } };
  await expect(removeUser(by, desk, user)).rejects.toMatchObject({ code: 'insufficient_permissions' });
  expect((await Promise.all(own.map((id) => keys.get(id)))).map((key) => key?.revokedAt)).toEqual([null, null]);
  expect(people.user(user)).toMatchObject({ suspendedAt: null, removedAt: null });
  expect(await removeUser(by, { people, keys }, user).catch((cause) => cause.code)).toBe('insufficient_permissions');
  await close();
});

test('a lead does not revoke a key to which an operator gives a higher scope at the same time', async () => {
  const { keys, revoke, own, by, close } = await stage();
  const revoking = revokeKey(by, { get: (id) => keys.get(id), revoke }, own[0]!);
  await expect(revoking).rejects.toMatchObject({ code: 'insufficient_permissions' });
  expect((await keys.get(own[0]!))?.revokedAt).toBeNull();
  expect(await revokeKey(by, keys, own[1]!)).toBe(true);
  await close();
});
