import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { INHERITED } from '../../src/core/people/people.ts';
import { openStore } from '../../src/store/open.ts';
import { keyInfo } from '../store/suites/access.ts';
import { aUser } from '../store/suites/people.ts';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { type PersonName, usePeople } from './people.ts';

/** Tests how much people with small roles may add to a server, and which keys they may not change. */
const box = usePeople();

interface KeyBody {
  readonly id: string;
  readonly key?: string;
  readonly models: readonly string[] | null;
}

async function made(answer: Response): Promise<KeyBody> {
  expect(answer.status).toBe(200);
  return (await answer.json()) as KeyBody;
}

const messageOf = async (answer: Response): Promise<string> =>
  ((await answer.json()) as { error: { message: string } }).error.message;

/** A list with this many bytes as JSON: `["` and `"]` around the names, and `","` between them. */
const listOf = (bytes: number): string[] => {
  const whole = Math.floor((bytes - 4) / 103);
  const rest = bytes - 4 - whole * 103;
  return [...Array.from({ length: whole }, (_, at) => `${at}`.padStart(100, 'm')), 'r'.repeat(rest)];
};

describe('the list of models of a key', () => {
  test('has at most 16 KiB as JSON when a key is created or changed, even for operators', async () => {
    const [most, more] = [listOf(16_384), listOf(16_385)];
    expect([most, more].map((list) => JSON.stringify(list).length)).toEqual([16_384, 16_385]);
    await expectError(await box.post('/admin/keys', { models: more }), 'invalid_value', 'models');
    await expectError(await box.as('member').post('/admin/keys', { models: more }), 'invalid_value', 'models');
    const wide = Array.from({ length: 60 }, (_, at) => `${at}`.padStart(100, '模'));
    await expectError(await box.post('/admin/keys', { models: wide }), 'invalid_value', 'models');
    const { id } = await made(await box.post('/admin/keys', { models: most }));
    expect(await messageOf(await box.as('owner').send('PATCH', `/admin/keys/${id}`, { models: more }))).toBe(
      'The list of models of a key may have at most 16384 bytes as JSON, but this list has 16385. List fewer models, or leave the list out to allow all models.',
    );
  });
});

describe('a key with the scope admin or report', () => {
  for (const scope of ['admin', 'report'] as const) {
    for (const role of ['lead', 'member'] as const) {
      test(`with ${scope}, of the ${role} or the own team, can only be changed, rotated and revoked by operators, not by a ${role}`, async () => {
        const owner = { team: 'team_red', ...(role === 'member' && { user: 'user_member' }) };
        const { id } = await made(await box.post('/admin/keys', { scopes: [scope], ...owner }));
        const path = `/admin/keys/${id}`;
        expect((await box.as(role).get(path)).status).toBe(200);
        const patch = await box.as(role).send('PATCH', path, { name: 'mine' });
        await expectError(patch, 'insufficient_permissions');
        const rotated = await box.as(role).post(`${path}/rotate`, {});
        await expectError(rotated, 'insufficient_permissions', 'scopes');
        await expectError(await box.as(role).post(`${path}/revoke`, {}), 'insufficient_permissions');
        expect(await (await box.get(path)).json()).toMatchObject({ state: 'valid', name: '', rotated_at: null });
        expect((await box.as('owner').post(`${path}/rotate`, {})).status).toBe(200);
        expect((await box.as('admin').send('PATCH', path, { name: 'theirs' })).status).toBe(200);
        expect((await box.as('admin').post(`${path}/revoke`, {})).status).toBe(200);
      });
    }
  }

  test('prevents a lead from suspending or removing its user; the lead can do both with other members', async () => {
    const user = async (): Promise<string> => {
      const answer = await box.as('lead').post('/admin/users', { name: 'someone', team: 'team_red' });
      return (await made(answer)).id;
    };
    const [plain, strong] = [await user(), await user()];
    const { id } = await made(await box.post('/admin/keys', { scopes: ['report'], user: strong }));
    for (const [method, way] of [
      ['POST', '/suspend'],
      ['DELETE', ''],
    ] as const)
      await expectError(await box.as('lead').send(method, `/admin/users/${strong}${way}`), 'insufficient_permissions');
    expect(await (await box.get(`/admin/keys/${id}`)).json()).toMatchObject({ state: 'valid' });
    expect((await box.as('lead').send('POST', `/admin/users/${plain}/suspend`)).status).toBe(200);
    expect((await box.as('lead').send('DELETE', `/admin/users/${plain}`)).status).toBe(200);
    expect((await box.as('admin').send('DELETE', `/admin/users/${strong}`)).status).toBe(200);
  });

  test('keeps its terms: a lead cannot change the models, limits and budgets of its user, but can rename the user', async () => {
    const { id } = await made(await box.as('lead').post('/admin/users', { name: 'someone' }));
    const change = (role: PersonName, body: object) => box.as(role).send('PATCH', `/admin/users/${id}`, body);
    expect((await change('lead', { limits: { requests_per_minute: 9 } })).status).toBe(200);
    await made(await box.post('/admin/keys', { scopes: ['admin'], user: id }));
    const budget = { limit_credits: 1, window: 'day', time_zone: 'UTC', on_exhausted: 'reject' };
    for (const body of [
      { models: ['toy'] },
      { models: null },
      { limits: { requests_per_minute: 1 } },
      { budgets: [budget] },
    ])
      await expectError(await change('lead', body), 'insufficient_permissions');
    expect((await change('lead', { name: 'renamed' })).status).toBe(200);
    expect((await change('admin', { limits: { requests_per_minute: 1 } })).status).toBe(200);
  });

  test('does not limit what a lead can do with other keys of the team', async () => {
    const { id } = await made(await box.post('/admin/keys', { team: 'team_red', user: 'user_member' }));
    expect((await box.as('lead').send('PATCH', `/admin/keys/${id}`, { name: 'renamed' })).status).toBe(200);
    expect((await box.as('lead').post(`/admin/keys/${id}/rotate`, {})).status).toBe(200);
    expect((await box.as('lead').post(`/admin/keys/${id}/revoke`, {})).status).toBe(200);
  });
});

describe('a user', () => {
  const make = (role: PersonName, body: object = {}) => box.as(role).post('/admin/keys', body);

  test('can have at most 200 unrevoked keys and create at most 200 a day; operators are exempt', async () => {
    const first = await Promise.all(Array.from({ length: 230 }, () => make('limited')));
    const refused = first.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(30);
    expect(await messageOf(refused[0]!)).toBe(
      'You have 200 keys that are not revoked, and a user can have at most 200. Revoke keys that are no longer needed, expired keys included.',
    );
    await expectError(refused[1]!, 'invalid_value', 'user');
    await expectError(await make('lead', { user: 'user_limited' }), 'invalid_value', 'user');
    const byOperator = await made(await make('admin', { user: 'user_limited' }));
    const own = await made(first.find(({ status }) => status === 200)!);
    expect((await box.as('limited').post(`/admin/keys/${own.id}/rotate`, {})).status).toBe(200);
    for (const { id } of [byOperator, own])
      expect((await box.as('limited').post(`/admin/keys/${id}/revoke`, {})).status).toBe(200);
    expect(await messageOf(await make('limited'))).toBe(
      'You have created 200 keys within 24 hours, and a user can create at most 200. Wait, rotate a key that you have, or ask an operator to create the key.',
    );
    expect((await make('lead', { user: 'user_limited' })).status).toBe(200);
    const byKey = await Promise.all(Array.from({ length: 3 }, () => box.post('/admin/keys', { user: 'user_limited' })));
    expect(byKey.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test('who leads a team can create at most 200 keys without a user', async () => {
    const all = await Promise.all(Array.from({ length: 205 }, () => make('stranger')));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(200);
  });
});

describe('a search for keys', () => {
  test('runs once at a time for each user, and without this limit for operators', async () => {
    const search = (role: PersonName) => box.as(role).get('/admin/keys?search=nothing');
    const all = await Promise.all(Array.from({ length: 20 }, () => search('limited')));
    const refused = all.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(20);
    await expectError(refused[0]!, 'rate_limit_exceeded');
    expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await search('limited')).status).toBe(200);
    const operators = await Promise.all(Array.from({ length: 20 }, () => search('admin')));
    expect(operators.every(({ status }) => status === 200)).toBe(true);
  });
});

describe('child keys', () => {
  test('are limited to 2,000 a day for all lines of one user; the lines of operators are exempt', async () => {
    const line = async (body: object) => {
      const answer = await box.post('/admin/keys', { scopes: ['chat', 'delegate'], ...body });
      return (await answer.json()) as { readonly id: string; readonly key: string };
    };
    const child = (key: string) =>
      fetch(`${box.url}/v1/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: '{}',
      });
    const own = await line({ user: 'user_member' });
    expect((await child(own.key)).status).toBe(200);
    // Writes as many keys as other lines have created today, in one step.
    const store = await openStore(join(box.data, 'signalbox.db'), { mode: 'beside', rooms: ['access', 'people'] });
    const row = keyInfo('parent', { user: 'user_member', createdAt: Date.now(), revokedAt: 1 });
    const others = Array.from({ length: 1_999 }, (_, at) => {
      const hash = new Uint8Array(32).fill(at % 200);
      return store.keys.insert({ ...row, id: `other${at}`, parent: own.id, expiresAt: 1 }, hash);
    });
    await store.commit(others);
    await store.close();
    const answer = await child((await line({ user: 'user_member' })).key);
    expect(answer.status).toBe(400);
    expect(await messageOf(answer)).toContain('All lines of one user create at most 2000 keys within 24 hours.');
    for (const free of [{}, { user: 'user_admin' }]) expect((await child((await line(free)).key)).status).toBe(200);
  });
});

describe('users and teams', () => {
  test('can have at most 16 KiB of models, and a list that was larger before may stay or become smaller', async () => {
    const [most, more] = [listOf(16_384), listOf(16_385)];
    const refused = async (answer: Response, param = 'models') => expectError(answer, 'invalid_value', param);
    await refused(await box.as('lead').post('/admin/users', { models: more }));
    const { id } = await made(await box.as('lead').post('/admin/users', { models: most }));
    await refused(await box.as('lead').send('PATCH', `/admin/users/${id}`, { models: more }));
    await refused(await box.post('/admin/teams', { name: 'big', models: more }));
    const team = { name: 'big', member_defaults: { models: more } };
    await refused(await box.post('/admin/teams', team), 'member_defaults.models');
    const key = await made(await box.post('/admin/keys', {}));
    const large = listOf(60_000);
    const store = await openStore(join(box.data, 'signalbox.db'), { mode: 'beside', rooms: ['access', 'people'] });
    const before = await store.keys.find(key.id);
    await store.commit([
      store.people.putUser(aUser('old', { team: 'team_red', terms: { ...INHERITED, models: large } }), null),
      store.keys.change({ ...before!.key.info, lastUsedAt: null, models: large }),
    ]);
    await store.close();
    for (const path of ['/admin/users/user_old', `/admin/keys/${key.id}`]) {
      const change = (body: object) => box.as('owner').send('PATCH', path, body);
      await waitFor(async () => (await change({ name: 'renamed' })).status === 200);
      expect((await change({ models: listOf(50_000) })).status).toBe(200);
      await refused(await change({ models: large }));
      expect((await change({ models: ['toy'] })).status).toBe(200);
      await refused(await change({ models: listOf(50_000) }));
    }
  });

  test('have no terms after they are removed', async () => {
    const { id } = await made(
      await box.as('lead').post('/admin/users', { models: ['toy'], limits: { requests_per_minute: 5 } }),
    );
    expect((await box.as('lead').send('DELETE', `/admin/users/${id}`)).status).toBe(200);
    const store = await openStore(join(box.data, 'signalbox.db'), { mode: 'beside', rooms: ['people'] });
    const { users } = await store.people.changedAfter(-1);
    await store.close();
    expect(users.find(({ row }) => row.id === id)?.row.terms).toEqual({ models: null, limits: null, budgets: null });
  });

  test('can be created by a lead at most 200 times a day, counting removed ones; operators are exempt', async () => {
    const make = (role: PersonName, body: object = {}) => box.as(role).post('/admin/users', body);
    const all: Response[] = [];
    for (let at = 0; at < 51; at++) all.push(...(await Promise.all(Array.from({ length: 4 }, () => make('stranger')))));
    const refused = all.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(4);
    const { id } = await made(all.find(({ status }) => status === 200)!);
    expect((await box.as('stranger').send('DELETE', `/admin/users/${id}`)).status).toBe(200);
    expect(await messageOf(await make('stranger'))).toBe(
      'You have created 200 users within 24 hours, which is the limit for a lead. Wait, or ask an operator to create the user.',
    );
    expect((await make('admin', { team: 'team_blue' })).status).toBe(200);
  });
});

describe('a line of keys that an operator moves to another user', () => {
  test('belongs to that user in lists, reports and rights, including its child keys and revoked keys', async () => {
    const body = { scopes: ['chat', 'delegate'], user: 'user_limited' };
    const top = await made(await box.post('/admin/keys', body));
    const child = async (name: string) => {
      const headers = { authorization: `Bearer ${top.key}`, 'content-type': 'application/json' };
      const answer = await fetch(`${box.url}/v1/keys`, { method: 'POST', headers, body: JSON.stringify({ name }) });
      return (await made(answer)).id;
    };
    const [valid, revoked] = [await child('valid'), await child('revoked')];
    expect((await box.post(`/admin/keys/${revoked}/revoke`, {})).status).toBe(200);
    const statuses = (role: PersonName) =>
      Promise.all([top.id, valid, revoked].map(async (id) => (await box.as(role).get(`/admin/keys/${id}`)).status));
    const listed = async (role: PersonName) => {
      const { data } = (await (await box.as(role).get('/admin/keys?limit=1000')).json()) as { data: { id: string }[] };
      return data.filter(({ id }) => [top.id, valid, revoked].includes(id)).length;
    };
    expect([await statuses('limited'), await listed('limited')]).toEqual([[200, 200, 200], 3]);
    expect((await box.as('owner').send('PATCH', `/admin/keys/${top.id}`, { user: 'user_stranger' })).status).toBe(200);
    for (const role of ['limited', 'lead'] as const) {
      expect([role, await statuses(role), await listed(role)]).toEqual([role, [404, 404, 404], 0]);
      const patch = await box.as(role).send('PATCH', `/admin/keys/${valid}`, { name: 'mine' });
      await expectError(patch, 'not_found');
      await expectError(await box.as(role).post(`/admin/keys/${valid}/rotate`, {}), 'not_found');
      await box.as(role).post(`/admin/keys/${valid}/revoke`, {});
    }
    expect([await statuses('stranger'), await listed('stranger')]).toEqual([[200, 200, 200], 3]);
    expect(await (await box.get(`/admin/keys/${revoked}`)).json()).toMatchObject({
      ...{ state: 'revoked', user: 'user_stranger', team: 'team_blue' },
    });
    expect((await box.as('stranger').post(`/admin/keys/${valid}/rotate`, {})).status).toBe(200);
    expect((await box.as('stranger').post(`/admin/keys/${valid}/revoke`, {})).status).toBe(200);
  });
});

describe('changes', () => {
  test('by a user who is no operator are limited to 1,000 a day over all logins; reads, refused requests, child keys, revocations, policy tools and sign-outs do not count', async () => {
    const member = box.as('newcomer');
    const { id, key } = await made(await member.post('/admin/keys', { scopes: ['chat', 'delegate'] }));
    const child = () =>
      fetch(`${box.url}/v1/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: '{}',
      });
    // A change to the same name counts as well, and writes nothing.
    const rename = (at: number) =>
      member.send('PATCH', `/admin/keys/${id}`, { name: at < 40 || at >= 960 ? `name ${at}` : 'name 39' });
    expect((await child()).status).toBe(200);
    const bad = await Promise.all(
      Array.from({ length: 50 }, () => member.send('PATCH', `/admin/keys/${id}`, { scopes: [] })),
    );
    expect(bad.filter(({ status }) => status === 400)).toHaveLength(50);
    // Repeats of the same change count once.
    const headers = { ...member.headers, 'content-type': 'application/json', 'idempotency-key': 'one change' };
    for (let repeat = 0; repeat < 5; repeat++) {
      expect((await fetch(`${box.url}/admin/keys`, { method: 'POST', headers, body: '{}' })).status).toBe(200);
    }
    const statuses: number[] = [];
    for (let at = 0; at < 1_000; at += 40)
      statuses.push(
        ...(await Promise.all(Array.from({ length: 40 }, (_, i) => rename(at + i)))).map(({ status }) => status),
      );
    expect([
      statuses.filter((status) => status === 200).length,
      statuses.filter((status) => status === 429).length,
    ]).toEqual([998, 2]);
    const refused = await rename(-1);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(86_000);
    expect(await messageOf(refused)).toMatch(
      /^A user can make at most 1000 changes in 24 hours, and you have made 1000. Try again in /,
    );
    await expectError(await member.post('/admin/keys', {}), 'rate_limit_exceeded');
    expect((await child()).status).toBe(200);
    expect((await member.post(`/admin/keys/${id}/revoke`, {})).status).toBe(200);
    expect((await member.get('/admin/keys')).status).toBe(200);
    expect((await member.post('/admin/policy/explain', {})).status).not.toBe(429);
    expect((await box.as('admin').post('/admin/keys', { user: 'user_newcomer', scopes: ['chat'] })).status).toBe(200);
    const browser = await box.signIn('newcomer');
    const logins = (await (await browser.get('/admin/logins')).json()) as { data: { id: string }[] };
    expect((await browser.send('DELETE', `/admin/logins/${logins.data[0]!.id}`)).status).toBe(200);
  });
});
