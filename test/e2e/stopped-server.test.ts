import { afterAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { startSignalbox, temporaryFolder, withKey, writePolicy } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** An operation has the same result over HTTP, as a command that uses a running server, and as a command on the database. */
const upstream = useUpstream();
const policy = testPolicy(
  { up: upstream.url, spare: upstream.url },
  { best: { endpoints: ['up'] }, other: { endpoints: ['spare'] } },
  `budgets: [{ name: all, limit_credits: 1000, window: total }]
cases: [{ name: one, given: { model: best }, expect: { model: best } }]
`,
);
// A revision depends on which variables are set.
const folder = writePolicy(policy.replace(/(spare: .*)TEST_UPSTREAM_KEY/, '$1NOT_SET'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const box = useSignalbox(() => ({ args: ['--policies', folder] }));

const WALLETS = ['ab', 'cd'].map((digits) => `0x${digits.repeat(20)}`) as [string, string];

interface Made {
  readonly id: string;
  readonly key: string;
}
const made = async (path: string, body: object) => (await box.post(path, body)).json() as Promise<Made>;
const read = async <Body>(path: string, init = {}) => (await (await box.get(path, init)).json()) as Body;

/** Returns the result of a command through the running server, and expects the same result on the database. */
async function alike(...args: string[]) {
  const timeless = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'then');
  const [served, stored] = [await box.run(...args), await box.run(...args, '--offline')];
  expect({ ...stored, out: timeless(stored.out) }).toEqual({ ...served, out: timeless(served.out) });
  return served;
}
const listed = async (...args: string[]) => JSON.parse((await alike(...args, '--json')).out) as { data: object[] };

/** Runs a command on the policy of the server. */
const onPolicy = (...args: string[]) => runHere([...args, '--data', box.data], UPSTREAM_ENV);
const explain = (key: string) => onPolicy('policy', 'explain', folder, '--key', key, '--model', 'best', '--json');

describe('a filter by a team or a user', () => {
  test('a filter finds records by the name or address of a team or user while it exists, and by its ID after it was deleted', async () => {
    const team = await made('/admin/teams', { name: 'search' });
    const user = await made('/admin/users', { name: 'Ada', email: 'ada@example.com', team: team.id });
    const { key } = await made('/admin/keys', { user: user.id });
    await answerOf(
      await box.post(
        '/v1/chat/completions',
        { model: 'best', messages: [{ role: 'user', content: 'hi' }] },
        withKey(key),
      ),
    );
    const found = async (...filter: string[]) => {
      const query = filter.length === 0 ? '' : `${filter[0]!.slice(2)}=${encodeURIComponent(filter[1]!)}`;
      const [usage, decisions, traffic, ofServer] = await Promise.all([
        alike('ledger', 'usage', '--by', 'user', '--format', 'csv', ...filter),
        listed('decisions', 'list', ...filter),
        read<{ total: { whole: { requests: number } } }>(`/admin/traffic?${query}`),
        read<{ groups: object[] }>(`/admin/usage?by=user&${query}`),
      ]);
      const { out: exported } = await onPolicy('ledger', 'export', '--by', 'user', ...filter);
      const counts = [usage.out, exported].map((text) => text.trim().split('\n').length - 1);
      return [...counts, ofServer.groups.length, decisions.data.length, traffic.total.whole.requests];
    };
    const once = [1, 1, 1, 1, 1];
    await waitFor(async () => (await listed('decisions', 'list', '--user', user.id)).data.length === 1);
    for (const filter of [
      ['--team', 'search'],
      ['--team', team.id],
      ['--user', user.id],
      ['--user', 'ADA@example.com'],
    ])
      expect([filter, ...(await found(...filter))]).toEqual([filter, ...once]);
    expect((await box.run('users', 'delete', user.id)).code).toBe(0);
    expect((await box.run('teams', 'delete', team.id)).code).toBe(0);
    for (const filter of [
      ['--team', team.id],
      ['--user', user.id],
    ])
      expect([filter, ...(await found(...filter))]).toEqual([filter, ...once]);
  });

  test('a filter on a team or user without records returns an empty list', async () => {
    for (const list of ['decisions list', 'keys list', 'users list'])
      expect([list, (await listed(...list.split(' '), '--team', 'none')).data]).toEqual([list, []]);
    const csv = (await alike('ledger', 'usage', '--by', 'team', '--team', 'none', '--format', 'csv')).out;
    expect(csv.trim().split('\n')).toHaveLength(1);
    expect(await read('/admin/users?team=none')).toMatchObject({ data: [], has_more: false });
    const { code, out } = await onPolicy('ledger', 'export', '--team', 'none');
    expect([code, out.trim().split('\n').length]).toEqual([0, 1]);
  });

  test('a filter on an address that several users share is refused with their IDs', async () => {
    const twins = await Promise.all([1, 2].map(() => made('/admin/users', { email: 'twin@example.com' })));
    for (const path of ['usage', 'traffic', 'decisions', 'keys'])
      await expectError(await box.get(`/admin/${path}?user=twin@example.com`), 'invalid_value', 'user');
    const { code, err } = await alike('decisions', 'list', '--user', 'twin@example.com');
    expect(code).toBe(1);
    for (const { id } of twins) expect(err).toContain(id);
  });

  test('a filter on a user is refused for a key with the scope report, with the same words everywhere', async () => {
    const { key } = await made('/admin/keys', { scopes: ['report'] });
    const messages = await Promise.all(
      ['usage', 'traffic', 'decisions'].map(async (path) => {
        const answer = await box.get(`/admin/${path}?user=x`, withKey(key));
        return (await expectError(answer, 'invalid_value', 'user')).message;
      }),
    );
    expect(new Set(messages).size).toBe(1);
  });
});

describe('`policy explain --key` without a server', () => {
  test('`policy explain --key` without a server refuses a key that does not work, as the server does', async () => {
    const user = await made('/admin/users', { name: 'Bob' });
    const [revoked, suspended, ofUser] = await Promise.all(
      [{}, {}, { user: user.id }].map((body) => made('/admin/keys', body)),
    );
    await box.post(`/admin/keys/${revoked!.id}/revoke`, {});
    await box.post(`/admin/keys/${suspended!.id}/suspend`, {});
    expect((await explain(ofUser!.id)).code).toBe(0);
    await box.post(`/admin/users/${user.id}/suspend`, {});
    for (const key of ['nope', revoked!.id, suspended!.id, ofUser!.id]) {
      const answer = await box.post('/admin/policy/explain', { request: { model: 'best' }, key });
      const { message } = await expectError(answer, 'not_found', 'key');
      expect(await explain(key)).toEqual({ code: 1, out: '', err: `signalbox: ${message}\n` });
    }
    const nowhere = await runHere(
      ['policy', 'explain', folder, '--key', 'nope', '--data', '/nowhere', '--model', 'best'],
      UPSTREAM_ENV,
    );
    expect([nowhere.code, nowhere.out]).toEqual([1, '']);
  });
});

describe('a wallet', () => {
  test('an unknown wallet is not shown; a blocked wallet is listed, with or without a balance', async () => {
    const [unknown, blocked] = WALLETS;
    await expectError(await box.get(`/admin/wallets/${unknown}`), 'not_found');
    expect(await alike('wallets', 'show', unknown)).toMatchObject({
      code: 1,
      err: expect.stringContaining('This wallet is unknown'),
    });
    expect((await listed('wallets', 'list')).data).toEqual([]);
    await box.post(`/admin/wallets/${blocked}/block`, {});
    const nothing = { balance_credits: 0, balance_usd: '0', held_credits: 0, held_usd: '0' };
    const row = { wallet: blocked, ...nothing, granted_credits: 0, granted_usd: '0', is_blocked: true };
    await waitFor(async () => (await box.run('wallets', 'list', '--offline')).out.includes(blocked));
    expect((await listed('wallets', 'list')).data).toEqual([row]);
    expect(await read('/admin/wallets')).toMatchObject({ data: [row] });
    expect((await alike('wallets', 'show', blocked)).code).toBe(0);
    // The server has no change to apply.
    expect(await alike('wallets', 'unblock', unknown)).toMatchObject({ code: 0, err: '' });
    expect(await read(`/admin/trail?subject=${unknown}`)).toMatchObject({ data: [] });
    // A grant counts before the server books it.
    expect((await box.run('wallets', 'credit', unknown, '5', '--offline')).out).toMatch(/^granted credits +5$/m);
    const { data } = JSON.parse((await box.run('wallets', 'list', '--offline', '--json')).out) as { data: object[] };
    expect(data).toMatchObject([{ wallet: unknown, granted_credits: 5 }, row]);
  });
});

describe('a report that is printed', () => {
  test('a printed report shows the previous period, and until when it is counted', async () => {
    const { out } = await alike('traffic', 'show', '--compare', 'before');
    expect(out).toMatch(/ BEFORE REQUESTS +BEFORE CREDITS\n/);
    expect((await alike('traffic', 'show')).out).not.toContain('BEFORE');
    const minute = new Date().toISOString().slice(0, 13).replace('T', ' ');
    expect((await box.run('ledger', 'usage')).out).toContain(`Counted until ${minute}`);
  });

  test('`--format json` prints the same JSON as `--json`, which conflicts with another format', async () => {
    const [named, flagged] = await Promise.all(
      [['--format', 'json'], ['--json']].map((flags) => box.run('ledger', 'usage', '--by', 'day', ...flags)),
    );
    const timeless = (text: string) => ({ ...(JSON.parse(text) as object), counted_until: '' });
    expect(timeless(named!.out)).toEqual(timeless(flagged!.out));
    expect(await alike('ledger', 'usage', '--format', 'csv', '--json')).toMatchObject({ code: 1, out: '' });
    expect((await box.run('ledger', 'usage', '--format', 'json', '--json')).code).toBe(0);
  });

  test('a report on funds with an unknown name is refused', async () => {
    await expectError(await box.get('/admin/ledger?name=nope'), 'not_found', 'name');
    expect((await alike('ledger', 'status', '--name', 'nope')).code).toBe(1);
    expect((await alike('ledger', 'status', '--name', 'all')).code).toBe(0);
  });
});

test('the error about a method that a path does not support names the path', async () => {
  const answer = await box.post('/admin/keys/count', {});
  expect(answer.headers.get('allow')).toBe('GET, PATCH');
  expect((await expectError(answer, 'method_not_allowed')).message).toContain('/admin/keys/{id}');
  const plain = await expectError(await box.post('/admin/ledger', {}), 'method_not_allowed');
  expect(plain.message).toBe('/admin/ledger accepts GET, not POST.');
});

describe('a push while no server follows pushes', () => {
  const revisionAt = async (data: string, ...args: string[]) => {
    const one = await startSignalbox({ data, env: UPSTREAM_ENV, args: ['--policies', folder, ...args] });
    const { revision } = (await (await one.get('/admin/policy')).json()) as { revision: string };
    await one.stop();
    return revision;
  };
  const pushed = async (data: string, env: Readonly<Record<string, string>>) =>
    JSON.parse((await runHere(['policy', 'push', folder, '--json', '--data', data], env)).out) as { revision: string };

  test('a push stores the revision that the server shows for the same files, with or without its variables', async () => {
    const data = temporaryFolder();
    const shown = await revisionAt(data);
    expect(await pushed(data, UPSTREAM_ENV)).toMatchObject({ revision: shown });
    expect(await revisionAt(data, '--policies-from', 'store')).toBe(shown);
    rmSync(data, { recursive: true });
    expect(await read('/admin/policy')).toMatchObject({ revision: shown });
    expect(await pushed(box.data, {})).toMatchObject({ revision: shown });
  });
});

test('`policy check` and `policy test` print the answers of the API', async () => {
  for (const tool of ['check', 'test']) {
    const { out } = await onPolicy('policy', tool, folder, '--json', ...(tool === 'test' ? ['--coverage'] : []));
    expect(await (await box.post(`/admin/policy/${tool}`, {})).json()).toEqual(JSON.parse(out));
  }
});
