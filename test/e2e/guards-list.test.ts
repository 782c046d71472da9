import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';
import { makeKey as makeLedgerKey, newPath, PATIENCE, policyWith, start, useServers } from './ledger-support.ts';

/** What guards found: the list of guards with their counts, and the list of requests by guard. */
const upstream = useUpstream();
useServers();

const GUARDS = `guards:
  - { name: secrets, guard: words, settings: { deny: [hush] }, on_match: block }
  - { name: pii, guard: personal-data, settings: { kinds: [email] }, on: [input, output], on_match: mask }
  - { name: falcon, guard: words, settings: { deny: [falcon] }, when: key.labels.department != "birds", on_match: flag }
`;

interface GuardRow extends Readonly<Record<string, unknown>> {
  readonly name: string;
}
interface Page {
  readonly requests: number;
  readonly counted_from: string | null;
  readonly data: readonly GuardRow[];
}
interface Listed {
  readonly data: readonly { readonly id: string; readonly guards: readonly string[] }[];
}

let box: Signalbox;
const keys: Record<string, { readonly id: string; readonly key: string }> = {};

async function makeKey(name: string, more: object = {}): Promise<void> {
  const response = await box.post('/admin/keys', { name, ...more });
  keys[name] = JSON.parse(await response.text());
}

const ask = async (name: string, content: string): Promise<string> => {
  const response = await box.post(
    '/v1/chat/completions',
    { model: 'best', messages: [{ role: 'user', content }] },
    withKey(keys[name]!.key),
  );
  await response.text();
  return response.headers.get('x-signalbox-decision-id') ?? response.headers.get('x-request-id') ?? '';
};

const jsonAt = async <Body>(path: string, key = box.key): Promise<Body> => {
  const response = await box.get(path, withKey(key));
  expect([path, response.status]).toEqual([path, 200]);
  return JSON.parse(await response.text());
};
const guardsIn = (query = '', key = box.key) => jsonAt<Page>(`/admin/guards?${query}`, key);
const countsOf = ({ data }: Page) =>
  Object.fromEntries(
    data.map(({ name, requests, matched, blocked, masked, flagged, failed }) => [
      name,
      [requests, matched, blocked, masked, flagged, failed],
    ]),
  );
const listed = async (query: string) => (await jsonAt<Listed>(`/admin/decisions?${query}`)).data.map(({ id }) => id);

describe('what guards find', () => {
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    box = await startSignalbox({
      policy: testPolicy(
        { fake: upstream.url },
        { best: { endpoints: ['fake'], price: { input: 4, output: 16 } } },
        GUARDS,
      ),
      env: UPSTREAM_ENV,
    });
    await makeKey('search');
    await makeKey('birds', { labels: { department: 'birds' } });
    ids.plain = await ask('search', 'Hello.');
    ids.blocked = await ask('search', 'hush, a falcon.');
    ids.masked = await ask('search', 'Write to quxley@example.com about the falcon.');
    ids.flagged = await ask('search', 'A falcon.');
    ids.birds = await ask('birds', 'A falcon for quxley@example.com.');
    await waitFor(async () => (await listed('')).length === 5);
  });
  afterAll(() => box.stop());

  test('each guard of the policy is listed with its place and with its requests, also refused ones', async () => {
    const page = await guardsIn();
    expect(page).toMatchObject({ requests: 5, counted_from: null });
    expect(countsOf(page)).toEqual({
      secrets: [5, 1, 1, 0, 0, 0],
      pii: [5, 2, 0, 2, 0, 0],
      falcon: [4, 2, 0, 0, 2, 0],
    });
    const [, pii, falcon] = page.data;
    expect(pii).toMatchObject({
      guard: 'personal-data',
      on: ['input', 'output'],
      on_match: 'mask',
      is_conditional: false,
    });
    expect(pii?.models).toEqual([{ id: 'best', matched: 2 }]);
    expect(falcon).toMatchObject({
      is_conditional: true,
      file: expect.stringMatching(/^[^/]+\.yaml$/),
      line: expect.any(Number),
      keys: [{ id: keys.search!.id, name: 'search', matched: 2 }],
    });
    expect(countsOf(await guardsIn(`key=${keys.birds!.id}`))).toEqual({
      secrets: [1, 0, 0, 0, 0, 0],
      pii: [1, 1, 0, 1, 0, 0],
      falcon: [0, 0, 0, 0, 0, 0],
    });
    expect((await guardsIn('to=2026-01-02')).requests).toBe(0);
  });

  test('requests are listed by guard and by what it did, with sentences that do not repeat the text', async () => {
    const { plain: _, ...found } = ids;
    expect((await listed('guard=pii')).sort()).toEqual([found.masked!, found.birds!].sort());
    expect(await listed('guard=falcon&finding=flag')).toEqual([found.flagged!, found.masked!]);
    expect(await listed('finding=block')).toEqual([found.blocked!]);
    expect(await listed('guard=falcon&finding=block')).toEqual([]);
    expect(await listed('guard=unknown')).toEqual([]);
    const { data } = await jsonAt<Listed>('/admin/decisions?finding=mask&limit=1');
    expect(data[0]?.guards).toEqual(['The guard pii found 1 email in the request: masked.']);
    const refused = await jsonAt<{ guards: string[] }>(`/admin/requests/${found.blocked}`);
    expect(refused.guards).toEqual(['The guard secrets found 1 word in the request: blocked.']);
    expect(JSON.stringify(refused)).not.toContain('hush');
  });

  test('the commands report the same with a server, and from the database alone', async () => {
    const run = async (...args: string[]) => {
      const { out, err, code } = await box.run(...args, '--json');
      expect({ err, code }).toEqual({ err: '', code: 0 });
      return JSON.parse(out);
    };
    const { data } = await guardsIn();
    expect((await run('guards', 'list')).data).toEqual(data);
    const offline: Page = await run('guards', 'list', '--offline');
    expect(countsOf(offline)).toEqual(countsOf({ ...offline, data }));
    expect(offline.data.every(({ guard }) => guard === null)).toBe(true);
    expect((await box.run('guards', 'list', '--key', keys.birds!.id)).out).toMatch(/^1 request from /m);
    for (const flags of [[], ['--offline']]) {
      const page: Listed = await run('decisions', 'list', '--guard', 'falcon', '--finding', 'flag', ...flags);
      expect(page.data.map(({ id }) => id)).toEqual([ids.flagged!, ids.masked!]);
    }
  });
});

test(
  'refusals beyond those of a minute that are stored one by one count for the guard that refused them',
  async () => {
    const data = newPath();
    let now = Date.now();
    const several = await start({ data, now: () => now, policy: policyWith(GUARDS.replace('mask', 'block')) });
    const { key } = await makeLedgerKey(several);
    // All requests arrive in one minute of the server's clock.
    now = Math.ceil(now / 60_000) * 60_000 + 5_000;
    for (let n = 0; n < 90; n++) {
      const messages = [{ role: 'user', content: n % 3 === 0 ? 'Write to quxley@example.com.' : 'hush' }];
      const response = await several.post('/v1/chat/completions', { model: 'best', messages }, withKey(key));
      expect(response.status).toBe(400);
    }
    await several.stop();
    const { out, err } = await runHere([
      'guards',
      'list',
      '--from',
      '2026-01-01',
      '--to',
      '2100-01-01',
      '--json',
      '--data',
      data,
    ]);
    expect(err).toBe('');
    const page: Page = JSON.parse(out);
    expect([page.requests, countsOf(page)]).toMatchObject([
      90,
      { secrets: [90, 60, 60, 0, 0, 0], pii: [90, 30, 30, 0, 0, 0] },
    ]);
  },
  PATIENCE,
);
