import { beforeAll, expect, test } from 'bun:test';
import { useSignalbox } from '../support/use.ts';

const box = useSignalbox({});

async function make(...flags: string[]): Promise<string> {
  return (await box.makeKey(...flags)).split('_')[2] ?? '';
}
async function list(...flags: string[]): Promise<string[]> {
  const { code, out } = await box.run('keys', 'list', ...flags, '--json');
  expect(code).toBe(0);
  return (JSON.parse(out).data as { readonly name: string }[]).map(({ name }) => name);
}

beforeAll(async () => {
  await make('--name', 'billing', '--label', 'team=finance', '--label', 'tier=a,b');
  await make('--name', 'batch', '--label', 'team=finance');
  await box.run('keys', 'revoke', await make('--name', 'gone'));
  await box.run('keys', 'suspend', await make('--name', 'paused'));
});

test.each([
  [['--name', 'billing'], ['billing']],
  [
    ['--label', 'team=finance'],
    ['billing', 'batch'],
  ],
  [['--label', 'team=finance', '--label', 'tier=a,b'], ['billing']],
  [['--state', 'revoked'], ['gone']],
  [['--state', 'suspended'], ['paused']],
  [['--state', 'expired'], []],
  [['--state', 'valid', '--name', 'batch'], ['batch']],
  [['--parent', 'nobody'], []],
])('keys list %p shows only the keys that match', async (flags, names) => {
  expect(await list(...flags)).toEqual(names);
});

test('keys list finds the keys of a team by its name', async () => {
  const team = await box.post('/admin/teams', { name: 'search' });
  expect(team.status).toBe(200);
  await make('--name', 'crawler', '--team', 'search');
  expect(await list('--team', 'search')).toEqual(['crawler']);
  expect(await list('--team', ((await team.json()) as { id: string }).id)).toEqual(['crawler']);
  expect(await list('--team', 'serach')).toEqual([]);
});

test('keys list finds the keys of a user by address, and names the users of a shared address to callers who may see them', async () => {
  const user = async (body: object) =>
    ((await (await box.post('/admin/users', { team: 'search', ...body })).json()) as { id: string }).id;
  const ids = [await user({ email: 'ada@example.com' }), await user({ email: 'shared@example.com' })];
  for (const [at, id] of ids.entries()) await make('--name', `of-${at}`, '--user', id);
  expect(await list('--user', 'ada@example.com')).toEqual(['of-0']);
  expect(await list('--user', 'shared@example.com')).toEqual(['of-1']);
  expect(await list('--user', 'nobody@example.com')).toEqual([]);
  const other = await user({ email: 'Shared@example.com' });
  const answer = await box.get('/admin/keys?user=shared@example.com');
  const { error } = (await answer.json()) as { error: { param: string; message: string } };
  expect([answer.status, error.param]).toEqual([400, 'user']);
  for (const id of [ids[1], other]) expect(error.message).toContain(id!);
  const { code, err } = await box.run('keys', 'list', '--user', 'shared@example.com');
  expect([code, err]).toEqual([1, expect.stringContaining(`--user: 2 users have the address`)]);
});

test.each([
  ...['keys?team=nobody', 'keys?user=nobody', 'keys?user=nobody@example.com', 'logins?user=nobody'],
  ...['decisions?team=nobody', 'decisions?user=nobody', 'usage?team=nobody', 'usage?user=nobody'],
  ...['traffic?team=nobody', 'traffic?user=nobody'],
])('GET /admin/%s with a filter that matches nothing returns an empty list', async (path) => {
  const answer = await box.get(`/admin/${path}`);
  const { data, groups, total } = (await answer.json()) as Record<'data' | 'groups' | 'total', unknown>;
  expect([answer.status, data ?? groups ?? total]).toMatchObject([200, total ? { whole: { requests: 0 } } : []]);
});

test('keys list refuses an unknown state', async () => {
  const { code, err } = await box.run('keys', 'list', '--state', 'odd');
  expect([code, err]).toEqual([1, expect.stringMatching(/--state must be one of "valid", "suspended"/)]);
});

test('GET /admin/keys?search= finds a part of a name or of an ID, ignoring case', async () => {
  const named = async (search: string) => {
    const answer = await box.get(`/admin/keys?search=${search}&label=team%3Dfinance`);
    return ((await answer.json()) as { data: { id: string; name: string }[] }).data;
  };
  const [billing] = await named('ILLIN');
  expect(billing?.name).toBe('billing');
  expect((await named(billing?.id.slice(2, 9).toUpperCase() ?? '')).map(({ name }) => name)).toEqual(['billing']);
  expect(await named('crawl')).toEqual([]);
});
