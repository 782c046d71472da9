import { beforeAll, describe, expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';
import { PEOPLE, PEOPLE_POLICY, seatPeople } from './people.ts';

/** What people see of lists, and what they may give to a key that they make. */
const box = useSignalbox({ policy: PEOPLE_POLICY, callerOf: (header) => PEOPLE[header ?? ''] ?? null });

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
const login = (role: string) => withKey(`login-${role}`);
const idOf = (key: string): string => key.split('_')[2] ?? '';

const keys = new Map<Name, string>();
const decisions = new Map<Name, string>();
const nameOf = new Map<unknown, Name>();

beforeAll(async () => {
  await seatPeople(box);
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

async function read(path: string, role: string): Promise<Members> {
  const answer = await box.get(path, login(role));
  expect([path, role, answer.status]).toEqual([path, role, 200]);
  return (await answer.json()) as Members;
}

/** The names of the keys that a list is about. */
async function seen(path: string, role: string): Promise<(Name | undefined)[]> {
  const { data, groups } = await read(path, role);
  const rows = (data ?? groups) as readonly { id?: string; group?: { key_id: string } }[];
  return rows.map(({ id, group }) => nameOf.get(group ? group.key_id : id)).toSorted();
}

const LISTS = ['/admin/keys', '/admin/decisions', '/admin/usage?by=key'] as const;

/** Whose data each role sees in a list, where it sees the list. */
const SEEN: Readonly<Record<string, readonly Name[]>> = {
  owner: NAMES,
  admin: NAMES,
  auditor: NAMES,
  lead: ['mine', 'mates', 'teams'],
  member: ['mine'],
};

describe('a list', () => {
  for (const [role, names] of Object.entries(SEEN)) {
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

  test('has no more by a filter, and its pages go on within the reach', async () => {
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

  test('of keys has filters and pages, for each of what it may see', async () => {
    const listed = async (query: string, role = 'auditor') => {
      const { data, has_more: hasMore } = await read(`/admin/keys${query}`, role);
      return { ids: (data as { id: string }[]).map(({ id }) => id), hasMore };
    };
    const known = async (query: string, role?: string) =>
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
    await expectError(await box.get(`/admin/keys?after=${stranger}`, login('lead')), 'invalid_value', 'after');
    await expectError(await box.get('/admin/keys?state=odd', login('lead')), 'invalid_value', 'state');
    await expectError(await box.get('/admin/keys?limit=0', login('lead')), 'out_of_range', 'limit');
    await expectError(await box.get('/admin/keys?label=a', login('lead')), 'invalid_value', 'label');
  });

  test('shows a person who owns no key nothing, whoever else has none', async () => {
    const made = await box.get('/admin/keys', withKey('login-newcomer'));
    expect(((await made.json()) as { data: unknown[] }).data).toEqual([]);
    expect(await seen('/admin/decisions', 'newcomer')).toEqual([]);
  });
});

describe('a key that a member makes', () => {
  const make = (role: string, body: object) => box.post('/admin/keys', body, login(role));

  test('belongs to it and its team, with the scopes of an application', async () => {
    const made = await make('member', { name: 'self-made' });
    expect(made.status).toBe(200);
    const { id, scopes, key } = (await made.json()) as { id: string; scopes: string[]; key: string };
    expect(scopes).toEqual(['chat', 'route']);
    expect((await box.get(`/admin/keys/${id}`, login('member'))).status).toBe(200);
    expect((await box.get(`/admin/keys/${id}`, login('lead'))).status).toBe(200);
    expect((await box.get(`/admin/keys/${id}`, withKey('login-stranger'))).status).toBe(404);
    expect((await box.post('/v1/route', {}, withKey(key))).status).toBe(200);
    const trail = (await (await box.get(`/admin/trail?key=${id}`)).json()) as { data: Members[] };
    expect(trail.data[0]).toMatchObject({ action: 'create', actor: { kind: 'user', name: 'user_member' } });
  });

  test('has no scope beyond an application’s, no label of its choice, and no other owner', async () => {
    for (const role of ['member', 'lead']) {
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
    expect((await make('member', { labels: { desk: 'seven' } })).status).toBe(200);
  });

  test('has no model that its maker may not use', async () => {
    await expectError(await make('limited', { models: ['other'] }), 'insufficient_permissions', 'models');
    const made = (await (await make('limited', {})).json()) as { models: string[] };
    expect(made.models).toEqual(['toy']);
  });
});

describe('an admin key', () => {
  test('is made, and its new secret is told, to an owner alone', async () => {
    const admin = idOf(await box.makeKey('--scope', 'admin'));
    const rotate = (role: string) => box.post(`/admin/keys/${admin}/rotate`, {}, login(role));
    await expectError(
      await box.post('/admin/keys', { scopes: ['chat', 'admin'] }, login('admin')),
      'insufficient_permissions',
      'scopes',
    );
    await expectError(await rotate('admin'), 'insufficient_permissions', 'scopes');
    expect((await rotate('owner')).status).toBe(200);
    expect((await box.post('/admin/keys', { scopes: ['chat', 'admin'] }, login('owner'))).status).toBe(200);
    // Whoever finds that one has leaked need not wait for an owner.
    expect((await box.post(`/admin/keys/${admin}/revoke`, {}, login('admin'))).status).toBe(200);
  });

  test('that belongs to a member gives it no more than its role', async () => {
    const made = await box.post('/admin/keys', { scopes: ['admin'], ...OWNERS.mine });
    const { id } = (await made.json()) as { id: string };
    await expectError(
      await box.post(`/admin/keys/${id}/rotate`, {}, login('member')),
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
