import { beforeAll, describe, expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { withKey } from '../support/signalbox.ts';
import { type PersonName, usePeople } from './people.ts';

/** Tests what people see in lists, and what they may give to a key that they create. */
const box = usePeople();

const OWNERS = {
  mine: { team: 'team_red', user: 'user_member' },
  mates: { team: 'team_red', user: 'user_lead' },
  teams: { team: 'team_red' },
  strangers: { team: 'team_blue', user: 'user_stranger' },
  nobodys: {},
} as const;
type Name = keyof typeof OWNERS;
const NAMES = Object.keys(OWNERS) as Name[];

type Members = Readonly<Record<string, unknown>>;
const idOf = (key: string): string => key.split('_')[2] ?? '';

const keys = new Map<Name, string>();
const decisions = new Map<Name, string>();
const nameOf = new Map<unknown, Name>();

beforeAll(async () => {
  for (const name of NAMES) {
    const made = await box.post('/admin/keys', { name, ...OWNERS[name] });
    const { key } = (await made.json()) as { key: string };
    const body = { model: 'toy', messages: [{ role: 'user', content: name }] };
    const { platform } = await answerOf(await box.post('/v1/chat/completions', body, withKey(key)));
    keys.set(name, key);
    decisions.set(name, platform.decision_id);
    nameOf.set(idOf(key), name).set(platform.decision_id, name);
  }
});

async function read(path: string, role: PersonName): Promise<Members> {
  const answer = await box.as(role).get(path);
  expect([path, role, answer.status]).toEqual([path, role, 200]);
  return (await answer.json()) as Members;
}

/** The names of the keys in a list. */
async function seen(path: string, role: PersonName): Promise<(Name | undefined)[]> {
  const { data, groups } = await read(path, role);
  const rows = (data ?? groups) as readonly { id?: string; group?: { key_id: string } }[];
  return rows.map(({ id, group }) => nameOf.get(group ? group.key_id : id)).toSorted();
}

const LISTS = ['/admin/keys', '/admin/decisions', '/admin/usage?by=key'] as const;

/** The keys whose data each role sees in a list, if the role may see the list. */
const SEEN: Readonly<Partial<Record<PersonName, readonly Name[]>>> = {
  owner: NAMES,
  admin: NAMES,
  auditor: NAMES,
  lead: ['mine', 'mates', 'teams'],
  member: ['mine'],
};

describe('a list', () => {
  for (const [role, names] of Object.entries(SEEN) as [PersonName, readonly Name[]][]) {
    test(`shows a person with the role ${role} the data of ${names.join(', ')}`, async () => {
      for (const path of LISTS) {
        const found = (await seen(path, role)).filter((name) => name !== undefined);
        expect([path, ...found]).toEqual([path, ...names.toSorted()]);
      }
    });
  }

  test('shows finance all keys and their money', async () => {
    expect(await seen('/admin/usage?by=key', 'finance')).toEqual(NAMES.toSorted());
    const listed = await seen('/admin/keys', 'finance');
    expect(listed.filter((name) => name !== undefined)).toEqual(NAMES.toSorted());
  });

  test('of people, teams and logins shows a lead the team, and a member only the member', async () => {
    const ids = async (path: string, role: PersonName, member = 'id') => {
      const { data } = await read(path, role);
      return [...new Set((data as Members[]).map((row) => String(row[member])))].toSorted();
    };
    const red = ['admin', 'auditor', 'finance', 'lead', 'limited', 'member', 'owner'].map((name) => `user_${name}`);
    const all = [...red, 'user_newcomer', 'user_stranger'].toSorted();
    for (const role of ['admin', 'auditor', 'finance'] as const) {
      expect([role, ...(await ids('/admin/users', role))]).toEqual([role, ...all]);
      expect([role, ...(await ids('/admin/teams', role))]).toEqual([role, 'team_blue', 'team_red']);
    }
    expect(await ids('/admin/users', 'lead')).toEqual(red);
    expect(await ids('/admin/users', 'stranger')).toEqual(['user_stranger']);
    expect(await ids('/admin/users', 'member')).toEqual(['user_member']);
    for (const role of ['lead', 'member'] as const) expect(await ids('/admin/teams', role)).toEqual(['team_red']);
    expect(await ids('/admin/teams', 'newcomer')).toEqual([]);
    for (const role of ['admin', 'auditor'] as const) expect(await ids('/admin/logins', role, 'user_id')).toEqual(all);
    for (const role of ['finance', 'lead', 'member'] as const)
      expect(await ids('/admin/logins', role, 'user_id')).toEqual([`user_${role}`]);
  });

  test('of budgets shows a lead and a member how much is left of the budgets that they spend', async () => {
    const budgets = [{ limit_credits: 500, window: 'month' }];
    await box.as('owner').send('PATCH', '/admin/teams/team_red', { member_defaults: { budgets } });
    for (const role of ['lead', 'member'] as const) {
      const { in_force: inForce } = await read('/admin/users/user_member', role);
      expect(inForce).toMatchObject({ budgets: [{ limit_credits: 500, left_credits: expect.any(Number) }] });
      expect((await box.as(role).get('/admin/teams/team_blue')).status).toBe(404);
      expect((await box.as(role).get('/admin/users/user_stranger')).status).toBe(404);
    }
    await box.as('owner').send('PATCH', '/admin/teams/team_red', { member_defaults: null });
  });

  test('finds a user by email only among the users that the viewer may see, and finds none if several share the email', async () => {
    const owner = box.as('owner');
    const make = async (team: string) =>
      ((await (await owner.post('/admin/users', { email: 'twin@example.com', team })).json()) as { id: string }).id;
    const [red, blue] = [await make('team_red'), await make('team_blue')];
    expect(await read('/admin/users/Twin@example.com', 'lead')).toMatchObject({ id: red });
    await expectError(await box.as('member').get('/admin/users/twin@example.com'), 'not_found');
    const shared = await owner.get('/admin/users/twin@example.com');
    expect(shared.status).toBe(404);
    expect(await shared.text()).toContain(`${red}, ${blue}`);
    // The error of a filter names the users with this email, but only users that the viewer may see.
    const filter = '/admin/keys?user=twin@example.com';
    await expectError(await owner.get(filter), 'invalid_value', 'user');
    expect(await read(filter, 'lead')).toMatchObject({ data: [] });
    const made = await box.as('lead').post('/admin/keys', { user: 'twin@example.com' });
    expect(await made.json()).toMatchObject({ user: red });
    for (const id of [red, blue]) expect((await owner.send('DELETE', `/admin/users/${id}`)).status).toBe(200);
  });

  test('shows no more data with a filter, and its pages stay within the data that the viewer may see', async () => {
    for (const [role, mine] of [
      ['lead', 'teams'],
      ['member', 'mine'],
    ] as const) {
      const other = idOf(keys.get('strangers') ?? '');
      expect(await seen(`/admin/decisions?key=${other}`, role)).toEqual([]);
      expect((await read(`/admin/usage?key=${other}`, role)).total_credits).toBe(0);
      expect(await seen(`/admin/decisions?key=${idOf(keys.get(mine) ?? '')}`, role)).toEqual([mine]);
      expect((await read(`/admin/usage?key=${idOf(keys.get(mine) ?? '')}`, role)).total_credits).toBeGreaterThan(0);
    }
    const first = await read('/admin/decisions?limit=2', 'lead');
    expect(first).toMatchObject({ has_more: true });
    const last = (first.data as { id: string }[]).at(-1)?.id;
    expect(await read(`/admin/decisions?limit=2&after=${last}`, 'lead')).toMatchObject({ has_more: false });
  });

  test('of keys has filters and pages over the keys that each viewer may see', async () => {
    const listed = async (query: string, role: PersonName = 'auditor') => {
      const { data, has_more: hasMore } = await read(`/admin/keys${query}`, role);
      return { ids: (data as { id: string }[]).map(({ id }) => id), hasMore };
    };
    const known = async (query: string, role?: PersonName) =>
      (await listed(query, role)).ids.flatMap((id) => nameOf.get(id) ?? []);
    expect(await known('?team=team_red')).toEqual(['mine', 'mates', 'teams']);
    expect(await known('?user=user_stranger')).toEqual(['strangers']);
    expect(await known('?user=user_stranger', 'lead')).toEqual([]);
    expect(await known('?name=nobodys&state=valid')).toEqual(['nobodys']);
    expect(await known('?state=revoked')).toEqual([]);
    expect(await known('?label=a=b')).toEqual([]);
    const { ids } = await listed('', 'lead');
    const paged: string[] = [];
    for (let after = ''; ; after = `&after=${paged.at(-1)}`) {
      const page = await listed(`?limit=2${after}`, 'lead');
      paged.push(...page.ids);
      if (!page.hasMore) break;
      expect(page.ids).toHaveLength(2);
    }
    expect(paged).toEqual(ids);
    const stranger = idOf(keys.get('strangers') ?? '');
    await expectError(await box.as('lead').get(`/admin/keys?after=${stranger}`), 'invalid_value', 'after');
    await expectError(await box.as('lead').get('/admin/keys?state=odd'), 'invalid_value', 'state');
    await expectError(await box.as('lead').get('/admin/keys?limit=0'), 'out_of_range', 'limit');
    await expectError(await box.as('lead').get('/admin/keys?label=a'), 'invalid_value', 'label');
  });

  test('shows nothing to a person without keys, even if other people have no keys either', async () => {
    const made = await box.as('newcomer').get('/admin/keys');
    expect(((await made.json()) as { data: unknown[] }).data).toEqual([]);
    expect(await seen('/admin/decisions', 'newcomer')).toEqual([]);
  });
});

describe('a key that a member creates', () => {
  const make = (role: PersonName, body: object) => box.as(role).post('/admin/keys', body);

  test('belongs to the member and the member’s team, and has the scopes of an application', async () => {
    const made = await make('member', { name: 'self-made' });
    expect(made.status).toBe(200);
    const { id, scopes, key } = (await made.json()) as { id: string; scopes: string[]; key: string };
    expect(scopes).toEqual(['chat', 'route']);
    expect((await box.as('member').get(`/admin/keys/${id}`)).status).toBe(200);
    expect((await box.as('lead').get(`/admin/keys/${id}`)).status).toBe(200);
    expect((await box.as('stranger').get(`/admin/keys/${id}`)).status).toBe(404);
    expect((await box.post('/v1/route', {}, withKey(key))).status).toBe(200);
    const trail = (await (await box.get(`/admin/trail?key=${id}`)).json()) as { data: Members[] };
    expect(trail.data[0]).toMatchObject({ action: 'create', actor: { kind: 'user', name: 'user_member' } });
  });

  test('cannot have a scope beyond an application’s, a label, or another owner', async () => {
    for (const role of ['member', 'lead'] as const) {
      for (const scope of ['admin', 'report']) {
        await expectError(await make(role, { scopes: [scope] }), 'insufficient_permissions', 'scopes');
      }
      await expectError(await make(role, { labels: { team: 'legal' } }), 'insufficient_permissions', 'labels');
      await expectError(await make(role, { team: 'team_blue' }), 'insufficient_permissions', 'team');
    }
    await expectError(await make('member', { user: 'user_lead' }), 'insufficient_permissions', 'user');
    for (const user of ['user_stranger', 'user_newcomer']) {
      await expectError(await make('lead', { user }), 'insufficient_permissions', 'team');
    }
    expect((await make('lead', { user: 'user_member' })).status).toBe(200);
  });

  test('cannot use a model that its creator may not use', async () => {
    await expectError(await make('limited', { models: ['other'] }), 'insufficient_permissions', 'models');
    expect((await make('limited', { models: ['toy'] })).status).toBe(200);
  });
});

describe('a user that people create or change', () => {
  const PERSON = { issuer: 'https://id.example', sub: 'somebody' };
  const refused = async (role: PersonName, method: string, path: string, body?: object) => {
    const answer = await box.as(role).send(method, `/admin/users${path}`, body);
    expect([role, method, path, body, answer.status]).toEqual([role, method, path, body, 403]);
    await expectError(answer, 'insufficient_permissions');
  };
  const made = async (role: PersonName, body: object): Promise<string> => {
    const answer = await box.as(role).post('/admin/users', body);
    expect([role, body, answer.status]).toEqual([role, body, 200]);
    return ((await answer.json()) as { id: string }).id;
  };

  test('can only be made an owner or administrator by an owner, and only an owner can change or suspend those', async () => {
    for (const role of ['owner', 'admin']) {
      await refused('admin', 'POST', '', { role });
      await refused('admin', 'PATCH', '/user_member', { role });
    }
    for (const id of ['user_owner', 'user_admin']) {
      await refused('admin', 'PATCH', `/${id}`, { role: 'member' });
      await refused('admin', 'PATCH', `/${id}`, PERSON);
      await refused('admin', 'POST', `/${id}/suspend`);
      await refused('admin', 'DELETE', `/${id}`);
    }
    const id = await made('owner', { role: 'admin' });
    expect((await box.as('owner').send('DELETE', `/admin/users/${id}`)).status).toBe(200);
    for (const role of ['auditor', 'finance', 'lead']) await made('admin', { role, team: 'red' });
  });

  test('that a lead creates is a member of the team, and a lead cannot change users with another role', async () => {
    for (const role of ['admin', 'auditor', 'finance', 'lead', 'owner']) {
      await refused('lead', 'POST', '', { role });
      await refused('lead', 'PATCH', '/user_member', { role });
    }
    for (const body of [PERSON, { team: 'blue' }, { team: null }]) {
      await refused('lead', 'POST', '', body);
      await refused('lead', 'PATCH', '/user_member', body);
    }
    for (const id of ['user_lead', 'user_finance', 'user_auditor', 'user_admin', 'user_owner']) {
      await refused('lead', 'PATCH', `/${id}`, { name: 'x' });
      for (const action of ['suspend', 'resume']) await refused('lead', 'POST', `/${id}/${action}`);
      await refused('lead', 'DELETE', `/${id}`);
    }
    const id = await made('lead', { name: 'new' });
    const terms = {
      budgets: [{ limit_credits: 5, window: 'day' }],
      limits: { requests_per_minute: 9 },
      models: ['toy'],
    };
    const changed = await box.as('lead').send('PATCH', `/admin/users/${id}`, terms);
    expect(await changed.json()).toMatchObject({ team: 'team_red', role: 'member', models: ['toy'] });
  });
});

describe('an admin key', () => {
  test('can only be created by an owner, and only an owner gets its new secret', async () => {
    const admin = idOf(await box.makeKey('--scope', 'admin'));
    const rotate = (role: PersonName) => box.as(role).post(`/admin/keys/${admin}/rotate`, {});
    await expectError(
      await box.as('admin').post('/admin/keys', { scopes: ['chat', 'admin'] }),
      'insufficient_permissions',
      'scopes',
    );
    await expectError(await rotate('admin'), 'insufficient_permissions', 'scopes');
    expect((await rotate('owner')).status).toBe(200);
    expect((await box.as('owner').post('/admin/keys', { scopes: ['chat', 'admin'] })).status).toBe(200);
    // An admin who finds that a key has leaked need not wait for an owner.
    expect((await box.as('admin').post(`/admin/keys/${admin}/revoke`, {})).status).toBe(200);
  });

  test('that belongs to a member gives the member no more rights than the role', async () => {
    const made = await box.post('/admin/keys', { scopes: ['admin'], ...OWNERS.mine });
    const { id } = (await made.json()) as { id: string };
    await expectError(
      await box.as('member').post(`/admin/keys/${id}/rotate`, {}),
      'insufficient_permissions',
      'scopes',
    );
  });
});

test('a key sees its own decisions, and none of its user’s other keys', async () => {
  const made = await box.post('/admin/keys', { name: 'second', ...OWNERS.mine });
  const { key } = (await made.json()) as { key: string };
  expect((await box.get(`/v1/decisions/${decisions.get('mine')}`, withKey(key))).status).toBe(404);
  expect((await box.get(`/v1/decisions/${decisions.get('mine')}`, withKey(keys.get('mine') ?? ''))).status).toBe(200);
});
