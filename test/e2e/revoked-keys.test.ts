import { expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, withKey } from '../support/signalbox.ts';
import { chat, newPath, PATIENCE, start, USAGE, upstream, useServers } from './ledger-support.ts';

/** Keys that were revoked before the server started. */
useServers();

interface MadeKey {
  readonly id: string;
  readonly key: string;
}
type Row = Readonly<Record<string, unknown>>;

const make = async (box: Signalbox, body: object): Promise<MadeKey> =>
  (await (await box.post('/admin/keys', body)).json()) as MadeKey;
const child = async (box: Signalbox, { key }: MadeKey, body: object): Promise<MadeKey> =>
  (await (await box.post('/v1/keys', body, withKey(key))).json()) as MadeKey;

function send(
  { url }: Signalbox,
  method: string,
  path: string,
  init: { headers: Record<string, string> },
  body?: object,
) {
  const headers = { ...init.headers, 'content-type': 'application/json' };
  return fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
}

/** The series with requests that ran. Refused requests with a revoked key have a series without a name. */
const ranIn = (series: readonly Row[]) => series.filter(({ whole }) => Object(whole).requests > 0);

async function rowsIn(box: Signalbox, path: string, key?: string): Promise<readonly Row[]> {
  const answer = await box.get(path, key === undefined ? undefined : withKey(key));
  expect([path, answer.status]).toEqual([path, 200]);
  const { data, groups, series, funds } = (await answer.json()) as Record<string, Row[]>;
  return data ?? groups ?? series ?? funds ?? [];
}

test(
  'after a restart, reports show the name, owner and parent of a revoked key, and the key gets the same 401, whose record names it',
  async () => {
    const data = newPath();
    upstream.behave(USAGE);
    const first = await start({ data });
    const env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: first.key };
    const report = await make(first, { name: 'reader', scopes: ['report'] });
    const root = await make(first, { name: 'planner', scopes: ['chat', 'delegate'] });
    const below = await child(first, root, { name: 'crawler' });
    const orphan = await child(first, root, { name: 'orphan' });
    for (const { key } of [root, below, orphan]) expect((await chat(first, key)).status).toBe(200);
    const refusalOf = async (box: Signalbox, { key }: MadeKey) => {
      const answer = await chat(box, key);
      return [answer.status, (await answer.json()) as unknown];
    };
    expect((await first.post(`/admin/keys/${below.id}/revoke`, {})).status).toBe(200);
    expect((await first.post(`/admin/keys/${root.id}/revoke`, {})).status).toBe(200);
    const refused = await refusalOf(first, root);
    expect(refused).toMatchObject([401, { error: { code: 'invalid_api_key' } }]);
    await first.stop();

    const box = await start({ data, env });
    for (const one of [root, below, orphan]) expect(await refusalOf(box, one)).toEqual(refused);
    const refusals = await rowsIn(box, '/admin/decisions?status=refused');
    expect(refusals.slice(0, 3).map(({ key_id, key_name, error }) => [key_id, key_name, error])).toEqual([
      [orphan.id, 'orphan', 'invalid_api_key'],
      [below.id, 'crawler', 'invalid_api_key'],
      [root.id, 'planner', 'invalid_api_key'],
    ]);
    const unknown = { id: 'none', key: root.key.replace(root.id, '222222222222') };
    expect(await refusalOf(box, unknown)).toEqual(refused);
    const names = new Map([
      [root.id, 'planner'],
      [below.id, 'crawler'],
      [orphan.id, 'orphan'],
    ]);
    const listed = await rowsIn(box, '/admin/keys');
    expect(listed.filter(({ id }) => names.has(String(id)))).toMatchObject([
      { name: 'planner', state: 'revoked', parent: null },
      { name: 'crawler', state: 'revoked', parent: root.id },
      { name: 'orphan', state: 'revoked', parent: root.id, revoked_at: null },
    ]);
    expect((await rowsIn(box, '/admin/keys?state=revoked')).map(({ name }) => name)).toEqual([...names.values()]);
    expect((await rowsIn(box, `/admin/keys?parent=${root.id}`)).map(({ name }) => name)).toEqual(['crawler', 'orphan']);
    const decisions = await rowsIn(box, '/admin/decisions?status=completed');
    expect(new Map(decisions.map((row) => [row.key_id, row.key_name]))).toEqual(names as Map<unknown, unknown>);
    const explained = (await (await box.get(`/admin/decisions/${decisions[0]?.id}`)).json()) as Row;
    expect(explained.key_name).toBe(names.get(String(explained.key_id)));
    const groups = await rowsIn(box, '/admin/usage?by=key');
    const named = (rows: readonly Row[]) =>
      new Map(rows.map(({ group }) => Object.values(group as Row)).map(([a, b]) => [a, b]));
    expect(named(groups)).toEqual(names as Map<unknown, unknown>);
    const ofReports = await rowsIn(box, '/admin/usage?by=key', report.key);
    expect(ofReports.map(({ group }) => Object.values(group as Row)[0]).toSorted()).toEqual(
      [...names.values()].toSorted(),
    );
    expect(await rowsIn(box, '/admin/decisions?key=crawler&status=completed', report.key)).toMatchObject([
      { key_name: 'crawler' },
    ]);
    const lines = await waitFor(async () => {
      const series = ranIn(await rowsIn(box, '/admin/traffic?by=key&step=hour'));
      return series.length === 3 ? series : null;
    });
    expect(new Map(lines.map(({ value, name }) => [value, name]))).toEqual(names as Map<unknown, unknown>);
    const ofTraffic = ranIn(await rowsIn(box, '/admin/traffic?by=key&step=hour', report.key));
    expect(ofTraffic.map(({ value }) => value).toSorted()).toEqual([...names.values()].toSorted());
    const changes = await rowsIn(box, `/admin/trail?subject=${root.id}`);
    expect(changes).toMatchObject([{ action: 'revoke' }, { action: 'create', details: { name: 'planner' } }]);
    expect((await box.run('keys', 'show', below.id)).out).toContain(root.id);
  },
  PATIENCE,
);

test(
  'the budget of a key counts the spending of its revoked child keys, after a restart and if the budget is added later',
  async () => {
    const data = newPath();
    upstream.behave(USAGE);
    const first = await start({ data });
    const env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: first.key };
    const budgets = [{ limit_credits: 100, window: 'total' }];
    const scopes = ['chat', 'delegate'];
    const [early, late] = [await make(first, { scopes, budgets }), await make(first, { scopes })];
    const ended: { readonly id: string; readonly decision: string }[] = [];
    for (const one of [early, late]) {
      const below = await child(first, one, {});
      const answer = await chat(first, below.key);
      ended.push({ id: below.id, decision: answer.headers.get('x-signalbox-decision-id') ?? '' });
      expect((await send(first, 'DELETE', `/v1/keys/${below.id}`, withKey(one.key))).status).toBe(200);
    }
    await first.stop();
    const box = await start({ data, env });
    const spentBy = async ({ id }: MadeKey) => {
      const { budgets } = (await (await box.get(`/admin/keys/${id}`)).json()) as {
        budgets: { spent_credits: number }[];
      };
      return budgets[0]?.spent_credits;
    };
    expect(await spentBy(early)).toBe(0.172);
    expect((await send(box, 'PATCH', `/admin/keys/${late.id}`, withKey(box.key), { budgets })).status).toBe(200);
    await waitFor(async () => ((await spentBy(late)) === 0.172 ? true : null));
    const again = await child(box, late, {});
    expect((await chat(box, again.key)).status).toBe(200);
    await waitFor(async () => ((await spentBy(late)) === 0.344 ? true : null));
    // A refund goes to the budgets that counted the charge, and a repeated revocation changes nothing.
    expect((await box.run('ledger', 'refund', ended[0]!.decision, '0.1')).err).toBe('');
    await waitFor(async () => ((await spentBy(early)) === 0.072 ? true : null));
    const repeated = await send(box, 'DELETE', `/v1/keys/${ended[0]!.id}`, withKey(early.key));
    expect([repeated.status, await repeated.json()]).toMatchObject([200, { state: 'revoked', parent: early.id }]);
    expect((await send(box, 'DELETE', `/v1/keys/${ended[0]!.id}`, withKey(late.key))).status).toBe(404);
  },
  PATIENCE,
);
