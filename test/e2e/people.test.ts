import { describe, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { type LivePolicy, startLivePolicy } from '../support/live-policy.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useLivePolicy, useUpstream } from '../support/use.ts';

/** Teams and users, through the API, the commands and the policy. */
const upstream = useUpstream();
const base = testPolicy({ first: upstream.url }, { best: { endpoints: ['first'] }, other: { endpoints: ['first'] } });
const teamsOf = (...names: readonly string[]) =>
  `teams:\n${names.map((name) => `  - { name: ${name}, models: [best], budgets: [{ limit_credits: 500, window: month }] }`).join('\n')}\n`;
const live = useLivePolicy(() => ({ 'policy.yaml': base, 'teams.yaml': teamsOf('search') }));

/** A change that stops a user stops the user's keys within a second; the tests allow four times as much, ms. */
const WITHIN = 4_000;

interface Answer {
  readonly status: number;
  readonly etag: string;
  readonly body: {
    readonly id: string;
    readonly name: string;
    readonly origin: string;
    readonly key: string;
    readonly team: string | null;
    readonly state: string;
    readonly budgets: readonly { readonly limit_credits: number }[] | null;
    readonly data: readonly { readonly id: string; readonly name: string }[];
    readonly has_more: boolean;
    readonly error: { readonly code: string; readonly message: string; readonly param: string | null };
  };
}

async function send(
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  const response = await live.box.get(path, init);
  return {
    status: response.status,
    etag: response.headers.get('etag') ?? '',
    body: (await response.json()) as Answer['body'],
  };
}
const made = async (path: string, body: object) => {
  const answer = await send('POST', path, body);
  expect(answer.status).toBe(200);
  return answer.body;
};
const trailOf = async (id: string) => {
  const { out } = await live.box.run('trail', 'list', '--subject', id, '--json');
  return JSON.parse(out).data as {
    action: string;
    actor: { kind: string };
    details: { before?: object; after?: object };
  }[];
};

describe('a team of the API', () => {
  test('a team of the API is created, read by ID and name, changed and removed; the audit trail has both versions of each change', async () => {
    const budgets = [{ limit_credits: 200, window: 'month' }];
    const team = await made('/admin/teams', {
      name: 'ads',
      budgets,
      limits: { requests_per_minute: 9 },
      models: ['best'],
    });
    expect(team).toMatchObject({ origin: 'api', users: 0, budgets: [{ limit_credits: 200, on_exhausted: 'cap' }] });
    expect((await send('GET', '/admin/teams/ads')).body).toEqual((await send('GET', `/admin/teams/${team.id}`)).body);
    const changed = await send('PATCH', '/admin/teams/ads', { limits: { tokens_per_minute: 5 }, models: null });
    expect(changed.body).toMatchObject({ models: null, limits: { requests_per_minute: 9, tokens_per_minute: 5 } });
    expect((await send('DELETE', '/admin/teams/ads')).body).toEqual({
      id: team.id,
      object: 'removed',
      revoked_keys: 0,
    } as object as Answer['body']);
    expect((await send('GET', `/admin/teams/${team.id}`)).status).toBe(404);
    const trail = await trailOf(team.id);
    expect(trail.map(({ action }) => action)).toEqual(['remove', 'change', 'create']);
    expect(trail[1]?.details).toMatchObject({ before: { models: ['best'] }, after: { models: null } });
  });

  test('a team of the policy is shown with the line that declares it, and no other team is', async () => {
    const { id } = await made('/admin/teams', { name: 'placeless' });
    expect((await send('GET', `/admin/teams/${id}`)).body).toMatchObject({ declared_at: null });
    expect((await send('GET', '/admin/teams/search')).body).toMatchObject({
      declared_at: { file: expect.stringMatching(/teams\.yaml$/), line: 2 },
    });
    await send('DELETE', `/admin/teams/${id}`);
  });

  test.each([
    [{}, 'missing_field', 'name'],
    [{ name: ' x' }, 'invalid_value', 'name'],
    [{ name: 'team_0mwu5is5xvpe4n3f3' }, 'invalid_value', 'name'],
    [{ name: 'x', nam: 'y' }, 'unknown_field', 'nam'],
    [{ name: 'x', models: [''] }, 'invalid_value', 'models[0]'],
    [
      { name: 'x', budgets: [{ limit_credits: 1, window: 'day', time_zone: 'Mars' }] },
      'invalid_value',
      'budgets[0].time_zone',
    ],
    [
      { name: 'x', member_defaults: { budgets: [{ limit_credits: 1, window: 'day', time_zone: 'Mars' }] } },
      'invalid_value',
      'member_defaults.budgets[0].time_zone',
    ],
    [{ name: 'search' }, 'conflict', 'name'],
  ])('a team %j is refused, with the field', async (body, code, param) => {
    const { error } = (await send('POST', '/admin/teams', body)).body;
    expect([error.code, error.param]).toEqual([code, param]);
  });

  test('a team with users or keys cannot be removed, and the error says what to do', async () => {
    const { id } = await made('/admin/teams', { name: 'busy' });
    const user = await made('/admin/users', { name: 'U', team: 'busy' });
    const key = await made('/admin/keys', { team: 'busy' });
    expect(key).toMatchObject({ team: id });
    const refused = async () => (await send('DELETE', '/admin/teams/busy')).body.error.message;
    expect(await refused()).toBe('1 user is of "busy". Move or remove them first.');
    await send('DELETE', `/admin/users/${user.id}`);
    expect(await refused()).toBe('1 key is of "busy". Revoke them first.');
    await live.box.post(`/admin/keys/${key.id}/revoke`, {});
    expect((await send('DELETE', '/admin/teams/busy')).status).toBe(200);
  });
});

describe('a user', () => {
  test('a user’s keys belong to the user’s team, follow the user to another team, and are refused while the user is suspended', async () => {
    const [one, two] = [await made('/admin/teams', { name: 'one' }), await made('/admin/teams', { name: 'two' })];
    const user = await made('/admin/users', { name: 'Ada', email: 'ada@example.com', team: 'one', role: 'lead' });
    const { key, id, team } = await made('/admin/keys', { user: user.id });
    expect(team).toBe(one.id);
    const status = async () => (await live.box.get('/v1/models', withKey(key))).status;
    expect(await status()).toBe(200);
    expect((await send('PATCH', `/admin/users/${user.id}`, { team: 'two' })).body).toMatchObject({ team_name: 'two' });
    expect((await send('GET', `/admin/keys/${id}`)).body.team).toBe(two.id);
    expect((await send('POST', `/admin/users/${user.id}/suspend`)).body.state).toBe('suspended');
    expect(await status()).toBe(403);
    expect((await send('POST', `/admin/users/${user.id}/resume`)).body.state).toBe('active');
    expect(await status()).toBe(200);
    // The command runs in another process.
    expect((await live.box.run('users', 'suspend', 'ada@example.com')).code).toBe(0);
    await waitFor(async () => (await status()) === 403, WITHIN);
    expect((await send('DELETE', `/admin/users/${user.id}`)).body).toMatchObject({ revoked_keys: 1 });
    expect((await send('GET', `/admin/users/${user.id}`)).status).toBe(404);
    expect((await trailOf(user.id)).map(({ action }) => action)).toEqual(
      ['remove', 'suspend', 'resume', 'suspend', 'change', 'create'].filter(
        (action, at) => at !== 1 || action !== 'remove',
      ),
    );
  });

  test('a user is identified by issuer and sub: a second user with both is refused, one with the same address is not', async () => {
    const person = { issuer: 'https://id.example', sub: '7', email: 'same@example.com' };
    await made('/admin/users', person);
    expect((await send('POST', '/admin/users', person)).body.error.code).toBe('conflict');
    await made('/admin/users', { email: 'same@example.com' });
    expect((await send('POST', '/admin/users', { issuer: 'https://id.example' })).body.error).toMatchObject({
      param: 'sub',
    });
    const { code, err } = await live.box.run('users', 'show', 'same@example.com');
    expect([code, err]).toEqual([1, expect.stringContaining('2 users have the address')]);
  });

  test('the lists of users and teams are read in pages, with filters', async () => {
    const { id } = await made('/admin/teams', { name: 'paged' });
    for (const name of ['p1', 'p2', 'p3']) await made('/admin/users', { name, team: id });
    const page = async (more: string) => (await send('GET', `/admin/users?team=paged&limit=2${more}`)).body;
    const first = await page('');
    expect([first.data.map(({ name }) => name), first.has_more]).toEqual([['p1', 'p2'], true]);
    const rest = await page(`&after=${first.data[1]?.id}`);
    expect([rest.data.map(({ name }) => name), rest.has_more]).toEqual([['p3'], false]);
    expect((await page('&search=P2')).data).toHaveLength(1);
    expect((await page('&state=suspended')).data).toEqual([]);
    expect((await send('GET', '/admin/users?role=boss')).body.error.param).toBe('role');
    expect((await send('GET', '/admin/users?limit=0')).body.error.param).toBe('limit');
    expect((await send('GET', '/admin/users?team=none')).body).toMatchObject({ data: [], has_more: false });
  });

  test('a user can take over a key that was created before the user, and release it again', async () => {
    await made('/admin/teams', { name: 'takers' });
    const user = await made('/admin/users', { email: 'taker@example.com', team: 'takers' });
    const { id } = await made('/admin/keys', {});
    const taken = await send('PATCH', `/admin/keys/${id}`, { user: user.id });
    expect(taken.body).toMatchObject({ user: user.id, team: user.team });
    expect((await send('PATCH', `/admin/keys/${id}`, { team: 'search' })).body.error.param).toBe('team');
    const left = await send('PATCH', `/admin/keys/${id}`, { team: null });
    expect(left.body.error).toMatchObject({
      message: expect.stringContaining('always belongs to the team of the user'),
    });
    const { err } = await live.box.run('users', 'create', '--name', 'x', '--team', 'serch');
    expect(err).toContain('There is no team with the ID or name "serch".');
    expect((await live.box.run('keys', 'change', id, '--no-user', '--team', 'search')).code).toBe(0);
    expect((await send('GET', `/admin/keys/${id}`)).body).toMatchObject({
      user: null,
      team: expect.stringContaining('team_'),
    });
    expect((await live.box.run('keys', 'change', id, '--user', 'taker@example.com', '--team', 'search')).err).toContain(
      'does not belong to this team',
    );
  });

  test.each([
    [{ team: 'none' }, 'conflict'],
    [{ user: 'user_none' }, 'conflict'],
    [{ team: 'none', user: 'user_none' }, 'conflict'],
  ])('a key with %j is not created', async (body, code) => {
    expect((await send('POST', '/admin/keys', body)).body.error.code).toBe(code);
  });
});

describe('a team of the policy', () => {
  test('a team of the policy exists with the policy, and only the policy can change it', async () => {
    const { origin, id } = (await send('GET', '/admin/teams/search')).body;
    expect(origin).toBe('policy');
    for (const [method, body] of [
      ['PATCH', { models: null }],
      ['PATCH', { origin: 'api' }],
      ['DELETE', undefined],
    ] as const) {
      const { status, body: answer } = await send(method, `/admin/teams/${id}`, body);
      expect([status, answer.error.code]).toEqual([409, 'conflict']);
      expect(answer.error.message).toContain('is declared in the policy. Change it there, in the section `teams`');
    }
    expect((await live.box.run('teams', 'delete', 'search')).err).toContain('is declared in the policy');
  });

  test('a team of the policy keeps its ID through edits; a team that left the policy can be declared again, or taken over', async () => {
    const before = (await send('GET', '/admin/teams/search')).body;
    const load = async (...names: readonly string[]) => {
      live.write('teams.yaml', names.length > 0 ? teamsOf(...names) : '');
      expect((await live.reload()).status).toBe(200);
    };
    await load('search', 'ops');
    await load('ops');
    expect((await send('GET', '/admin/teams/search')).body).toEqual({
      ...before,
      ...({ origin: 'former', declared_at: null } as object),
    });
    expect((await send('PATCH', '/admin/teams/search', { models: null })).body.error.message).toMatch(
      /no longer declares it.*--origin api/,
    );
    await load('search', 'ops');
    expect((await send('GET', '/admin/teams/search')).body).toEqual(before);
    await load('search');
    expect((await send('PATCH', '/admin/teams/ops', { origin: 'api', models: null })).body).toMatchObject({
      origin: 'api',
      models: null,
    });
    live.write('teams.yaml', teamsOf('search', 'ops'));
    const refused = (await (await live.reload()).json()) as { error: { details: { diagnostics: unknown[] } } };
    expect(refused.error.details.diagnostics).toMatchObject([
      {
        code: 'team-exists',
        file: expect.stringContaining('teams.yaml'),
        line: 3,
        column: 13,
        hint: expect.stringContaining('--origin policy'),
      },
    ]);
    expect((await send('PATCH', '/admin/teams/ops', { origin: 'policy' })).body.origin).toBe('former');
    await load('search', 'ops');
    expect((await send('GET', '/admin/teams/ops')).body).toMatchObject({ origin: 'policy', models: ['best'] });
  });

  test('a policy that declares a team with the name of an API team is refused, with the location', async () => {
    await using other = await opened(await startLivePolicy({ 'policy.yaml': base }));
    expect((await other.live.box.run('teams', 'create', '--name', 'search')).code).toBe(0);
    other.live.write('teams.yaml', teamsOf('search'));
    const checked = await other.live.box.run('policy', 'check', other.live.folder);
    expect([checked.code, checked.out]).toEqual([2, expect.stringContaining('teams.yaml:2:13  team-exists')]);
  });
});

const opened = async (one: LivePolicy) => ({ live: one, [Symbol.asyncDispose]: () => one.stop() });

test('commands create, show, change and delete teams and users as the API does', async () => {
  const run = async (...args: string[]) => {
    const { code, out, err } = await live.box.run(...args);
    expect([code, err]).toEqual([0, '']);
    return out;
  };
  await run(
    'teams',
    'create',
    '--name',
    'Data Science',
    '--budget',
    '200/month',
    '--member-budget',
    '5/day',
    '--rpm',
    '60',
  );
  expect(await run('teams', 'show', 'Data Science')).toMatch(
    /^member defaults +budgets 5 Credits \(0\.005 USD\) a day\b/m,
  );
  await run('teams', 'change', 'Data Science', '--no-budget', '--no-rpm', '--model', 'best');
  const { body } = await send('GET', '/admin/teams/Data%20Science');
  expect(body).toMatchObject({ budgets: [], limits: null, models: ['best'] });
  expect(JSON.parse(await run('teams', 'show', 'Data Science', '--json'))).toEqual(body);
  await run('teams', 'change', 'Data Science', '--member-rpm', '9', '--no-member-budget');
  expect((await send('GET', '/admin/teams/Data%20Science')).body).toMatchObject({
    member_defaults: { limits: { requests_per_minute: 9 }, budgets: [] },
  } as object);
  await run('users', 'create', '--name', 'Bob', '--email', 'bob@example.com', '--team', 'Data Science');
  await run('users', 'change', 'bob@example.com', '--role', 'lead', '--budget', '9/day');
  const { data } = JSON.parse(await run('users', 'list', '--team', 'Data Science', '--json')) as {
    data: Answer['body'][];
  };
  const [bob] = data;
  expect(bob).toMatchObject({ role: 'lead', budgets: [{ limit_credits: 9 }] });
  expect((await send('GET', `/admin/users/${bob?.id}`)).body).toMatchObject(bob ?? {});
  await run('users', 'change', 'bob@example.com', '--no-budget', '--no-team', '--role', 'member');
  expect((await send('GET', `/admin/users/${bob?.id}`)).body).toMatchObject({ budgets: null, team: null });
  await run('keys', 'create', '--user', 'bob@example.com');
  expect(await run('users', 'delete', 'bob@example.com')).toContain('revoked 1 key');
  await run('teams', 'delete', 'Data Science');
  expect((await live.box.run('teams', 'change', 'nothing')).err).toContain('Name at least one change');
});
