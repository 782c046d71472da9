import { beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { GROUPINGS } from '../../src/admin/use-cases/report/grouping.ts';
import { sightOf } from '../../src/admin/use-cases/sight.ts';
import { OPERATOR } from '../../src/core/people/caller.ts';
import { tries } from '../deep/effort.ts';
import { LOGIN, loginOf } from '../sign-in/stage.ts';
import { answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { TOY } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';
import { Visitor } from '../support/visitor.ts';
import { cellsOf, MATRIX, ROLES } from './matrix-rows.ts';

const POLICY = `${TOY}
gateway: { failed_auth_per_minute: 1000000, keyless_per_minute: 1000000, reports_per_minute: 1000000 }
records: { content: {}, metadata: [note], reported_runs: key.labels.team == "search" }
budgets:
  - { name: of-keys, each: key, limit_credits: 1000000, window: day }
  - { name: of-sessions, each: session, limit_credits: 1000000, window: day }
  - { name: of-both, each: 'key.labels.team + "/" + key.id', limit_credits: 1000000, window: day }
  - { name: of-teams, each: key.labels.team, match: key.labels.team != "", limit_credits: 1000000, window: day }
`;

const box = useSignalbox({ policy: POLICY });
let search: string;
let legal: string;
let victim: string;
let admin: string;
let report: string;
let decisions: readonly string[];

const idOf = (key: string): string => key.split('_')[2] ?? '';
const run = (team: string) => ({ session: `run-of-${team}`, agent: `agent-of-${team}`, parent: `parent-of-${team}` });

/** Texts of callers, which no report may contain. */
const WORDS = ['Marmalade', 'note-of-legal', 'note-of-search'];

/** Sends a request with a key, in its own session, and returns the ID of the decision. */
async function ask(key: string, team: string): Promise<string> {
  const { session, agent, parent } = run(team);
  const named = { 'x-claude-code-session-id': session, 'x-claude-code-agent-id': agent };
  const headers = { ...withKey(key).headers, ...named, 'x-claude-code-parent-agent-id': parent };
  const messages = [{ role: 'user', content: 'Marmalade?' }];
  const body = { model: 'toy', messages, metadata: { note: `note-of-${team}` } };
  return (await answerOf(await box.post('/v1/chat/completions', body, { headers }))).platform.decision_id;
}

beforeAll(async () => {
  [search, legal, victim, admin, report] = await Promise.all([
    box.makeKey('--name', 'search-app', '--label', 'team=search', '--budget', '1000000/month'),
    box.makeKey('--name', 'legal-app', '--label', 'team=legal', '--budget', '1000000/month'),
    box.makeKey('--name', 'victim'),
    box.makeKey('--name', 'boss', '--scope', 'admin'),
    box.makeKey('--name', 'finance', '--scope', 'report'),
  ]);
  expect((await box.post(`/admin/keys/${idOf(legal)}/grant`, { credits: 1_000 })).status).toBe(200);
  decisions = [await ask(search, 'search'), await ask(legal, 'legal')];
});

const read = async (path: string, key: string) => await box.get(path, withKey(key));
const readJson = async (path: string, key = report) => (await (await read(path, key)).json()) as Members;
type Members = Readonly<Record<string, unknown>>;

/** Everything that may change for reasons other than time: keys, the audit trail, the ledger, the policy. */
async function stateOf(): Promise<string> {
  const paths = ['/admin/keys', '/admin/trail', '/admin/ledger', '/admin/usage', '/admin/policy', '/admin/payments'];
  const texts = await Promise.all(paths.map(async (path) => (await box.get(path)).text()));
  return texts.join('\n').replace(/"(last_used_at|counted_until|forecast_[a-z]+)":[^,}]*/g, '');
}

function statusOf(operation: string, key: string): Promise<number> {
  const [method = '', pattern = ''] = operation.split(' ');
  const id = pattern.startsWith('/admin/keys') ? idOf(victim) : pattern.includes('models') ? 'toy' : decisions[0]!;
  const headers = { ...withKey(key).headers, 'content-type': 'application/json' };
  const init = { method, headers, ...((method === 'POST' || method === 'PATCH') && { body: '{}' }) };
  return fetch(box.url + pattern.replace('{id}', id), init).then(({ status }) => status);
}

describe('every operation of the OpenAPI document', () => {
  test('answers a report key with the status of its row, and changes nothing', async () => {
    const before = await stateOf();
    for (const [operation, row] of Object.entries(MATRIX)) {
      const status = cellsOf(row, 'other')[ROLES.indexOf('report')] ?? 0;
      expect([operation, await statusOf(operation, report)]).toEqual([operation, status]);
    }
    expect(await stateOf()).toBe(before);
  });

  test('says in its documentation who may use it, if not every key may', async () => {
    await expectError(await read('/admin/usage', search), 'insufficient_permissions');
    const message = async (path: string, key: string) => (await answerOf(await read(path, key))).error.message;
    expect(await message('/admin/usage', search)).toBe('This API key lacks the scope `report` or `admin`.');
    expect(await message('/admin/keys', report)).toBe('This API key lacks the scope `admin`.');
    expect(await message('/v1/usage', report)).toContain('owns nothing itself');
  });
});

/** The paths of all reports, with filters that could disclose something. */
const reports = () => [
  ...[...GROUPINGS, 'label:team'].map((by) => `/admin/usage?by=${by}`),
  '/admin/usage?by=key,session,agent',
  '/admin/ledger',
  ...['of-keys', 'of-sessions', 'of-both', 'legal-app', idOf(legal)].map((name) => `/admin/ledger?name=${name}`),
  '/admin/decisions',
  ...['legal-app', idOf(legal)].map((key) => `/admin/decisions?key=${key}`),
  ...decisions.map((id) => `/v1/decisions/${id}`),
  ...['policy', 'endpoints', 'status', 'decisions?session=run-of-legal'].map((name) => `/admin/${name}`),
  '/v1/models',
];

/** What a report must not contain: IDs of keys, sessions that the policy does not show, text of callers. */
const secrets = () => [
  ...[search, legal, victim, admin, report, box.key].map(idOf),
  ...Object.values(run('legal')),
  ...WORDS,
];

describe('a report', () => {
  test('contains no ID of a key, no hidden session and no text of a caller', async () => {
    for (const path of reports()) {
      const text = await (await read(path, report)).text();
      const asked = secrets().filter((secret) => !path.includes(secret));
      expect([path, ...asked.filter((secret) => text.includes(secret))]).toEqual([path]);
    }
  });

  test('names keys, and the sessions of keys whose policy shows them', async () => {
    const groups = async (by: string) => (await readJson(`/admin/usage?by=${by}`)).groups as { group: Members }[];
    expect((await groups('key')).map(({ group }) => group)).toEqual([
      { key_name: 'legal-app' },
      { key_name: 'search-app' },
    ]);
    expect((await groups('key,session,agent')).map(({ group }) => group)).toEqual([
      { key_name: 'legal-app', session: '', agent: '' },
      { key_name: 'search-app', session: 'run-of-search', agent: 'agent-of-search' },
    ]);
    const { data } = (await readJson('/admin/decisions?status=completed')) as { data: Members[] };
    const shown = data.map(({ key_id, key_name, session, metadata }) => [key_id, key_name, session, metadata]);
    expect(shown).toContainEqual([null, 'search-app', 'run-of-search', null]);
    expect(shown).toContainEqual([null, 'legal-app', null, null]);
    const { funds } = (await readJson('/admin/ledger')) as { funds: Members[] };
    const titles = funds.map(({ kind, name, subject }) => [kind, name, subject]);
    expect(titles).toContainEqual(['budget', 'of-keys', 'search-app']);
    expect(titles).toContainEqual(['budget', 'of-sessions', 'search-app/run-of-search']);
    expect(titles).toContainEqual(['budget', 'of-sessions', 'legal-app']);
    expect(titles).toContainEqual(['budget', 'of-both', '']);
    expect(titles).toContainEqual(['budget', 'of-teams', 'legal']);
    expect(titles).toContainEqual(['budget', 'key-month:cap', 'legal-app']);
    expect(titles).toContainEqual(['balance', 'legal-app', '']);
    const [ofSearch, ofLegal] = [
      await readJson(`/v1/decisions/${decisions[0]}`),
      await readJson(`/v1/decisions/${decisions[1]}`),
    ];
    expect(ofSearch).toMatchObject({ session: 'run-of-search', agent: 'agent-of-search', left_out: null });
    expect(ofLegal).toMatchObject({ session: null, agent: null, parent_agent: null, choice: 'toy' });
    expect(ofLegal.replay).toMatchObject({ matches: null });
  });

  test('can be filtered by the name of a key, which several keys may share', async () => {
    const { data } = (await readJson('/admin/decisions?key=legal-app')) as { data: Members[] };
    expect(data.map(({ id }) => id)).toEqual([decisions[1]]);
    expect((await readJson('/admin/decisions?key=nobody')).data).toEqual([]);
    expect(await readJson('/admin/ledger?name=legal-app')).toMatchObject({ funds_total: 1 });
    const twins = await Promise.all([box.makeKey('--name', 'twin'), box.makeKey('--name', 'twin')]);
    const asked = [await ask(twins[0], 'search'), await ask(twins[1], 'search')];
    const { data: both } = (await readJson('/admin/decisions?key=twin')) as { data: Members[] };
    expect(both.map(({ id }) => id).toSorted()).toEqual(asked.toSorted());
    await expectError(await read('/admin/decisions?session=run-of-legal', report), 'invalid_value', 'session');
  });

  test('has the same sums that operators see, for any grouping and filter, and never an ID', async () => {
    const by = fc.subarray([...GROUPINGS, 'label:team'], { minLength: 1 }).map((names) => `by=${names.join(',')}`);
    const filter = fc.constantFrom(
      ...['', '&model=toy', '&model=none', '&label=team%3Dlegal', '&key=legal-app', '&key=nobody'],
      `&key=${idOf(legal)}`,
    );
    await fc.assert(
      fc.asyncProperty(by, filter, async (grouping, wanted) => {
        const path = `/admin/usage?${grouping}${wanted}`;
        const text = await (await read(path, report)).text();
        expect(idsIn(text)).toEqual([]);
        const ofAdmin = path.replace('key=legal-app', `key=${idOf(legal)}`);
        const isById = wanted.includes(idOf(legal));
        const seen = await readJson(isById ? path.replace(wanted, '&key=nobody') : ofAdmin, admin);
        expect((JSON.parse(text) as Members).total_credits).toBe(seen.total_credits);
      }),
      tries('reports', 30, 500),
    );
    // The same search finds an ID in answers that show IDs.
    expect(idsIn(JSON.stringify(await readJson('/admin/usage?by=key', admin)))).not.toEqual([]);
  });
});

const idsIn = (text: string): string[] => [search, legal].map(idOf).filter((id) => text.includes(id));

test('no session is shown if the policy says nothing, or if its condition fails', () => {
  const fails = () => {
    throw new Error('no such label');
  };
  const app = { id: 'abc', name: 'search-app', labels: {}, team: null, user: null };
  const keys = { known: () => app, named: async () => new Map(), idsWhere: () => [], idsOf: async () => [] };
  const finance = { ...OPERATOR, scopes: new Set(['report'] as const) };
  for (const [reportedRuns, isShown] of [
    [null, false] as const,
    [fails, false] as const,
    [() => true, true] as const,
  ]) {
    const { showsRunsOf } = sightOf(finance, { keys, policy: () => ({ budgets: [], records: { reportedRuns } }) });
    expect(showsRunsOf('abc', { team: 'search' })).toBe(isShown);
  }
});

describe('a key with the scope report', () => {
  test('cannot have another scope, whether a request or a command creates it', async () => {
    const refused = await box.post('/admin/keys', { name: 'both', scopes: ['report', 'chat'] });
    await expectError(refused, 'invalid_value', 'scopes');
    const { code, err } = await box.run('keys', 'create', '--scope', 'report,admin');
    expect([code, err]).toEqual([1, expect.stringContaining('must have no other scope')]);
    expect((await box.run('keys', 'list')).out).toMatch(/finance +report /);
  });
});

describe('the rate limit of reports', () => {
  const few = useSignalbox({
    policy: `${TOY}
gateway: { reports_per_minute: 3 }
rate_limits: [{ name: shared, requests_per_minute: 2 }]
`,
  });

  test('counts each key separately, and not with the limits of the policy', async () => {
    const [first, second, slow, app] = await Promise.all([
      few.makeKey('--scope', 'report'),
      few.makeKey('--scope', 'report'),
      few.makeKey('--scope', 'report', '--rpm', '1'),
      few.makeKey(),
    ]);
    const look = (key: string) => few.get('/admin/usage', withKey(key));
    const left: (string | null)[] = [];
    for (let i = 0; i < 3; i++) left.push((await look(first)).headers.get('x-ratelimit-remaining-requests'));
    expect(left).toEqual(['2', '1', '0']);
    const { details } = await expectError(await look(first), 'rate_limit_exceeded', null, true);
    expect(details).toEqual({ limit: 'gateway.reports_per_minute', kind: 'requests' });
    expect((await look(second)).status).toBe(200);
    expect((await look(slow)).status).toBe(200);
    expect((await expectError(await look(slow), 'rate_limit_exceeded', null, true)).details).toMatchObject({
      limit: 'api-key',
    });
    // The five reports have not used the limit that all requests share.
    for (const status of [200, 200, 429]) expect((await few.post('/v1/route', {}, withKey(app))).status).toBe(status);
    expect((await few.get('/admin/usage')).headers.get('x-ratelimit-remaining-requests')).toBeNull();
  });

  test('counts all logins with one key together, and not with the requests of its programs', async () => {
    const key = await few.makeKey('--scope', 'report', '--rpm', '1');
    const signIn = async () => {
      const visitor = new Visitor();
      const body = JSON.stringify({ key });
      const headers = { 'content-type': 'application/json' };
      await visitor.go(`${few.url}/console/sign-in/key`, { method: 'POST', body, headers, origin: few.url });
      const cookie = `${LOGIN}=${loginOf(visitor, few)}`;
      return () => fetch(`${few.url}/admin/usage`, { headers: { cookie } });
    };
    const [first, second] = [await signIn(), await signIn()];
    // A login may send 12 requests, four times the limit of a key.
    for (let pair = 0; pair < 6; pair++) expect([(await first()).status, (await second()).status]).toEqual([200, 200]);
    const { details } = await expectError(await second(), 'rate_limit_exceeded', null, true);
    expect(details).toEqual({ limit: 'gateway.reports_per_minute', kind: 'requests' });
    expect((await few.get('/admin/usage', withKey(key))).status).toBe(200);
  });
});
