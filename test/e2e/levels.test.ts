import { describe, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: upstream.url },
    { m: { endpoints: ['first'] }, other: { endpoints: ['first'] } },
    `budgets:
  - { name: each, each: key, match: 'key.labels.kind == "shared"', limit_credits: 1, window: total, on_exhausted: reject }
gateway: { retries_max: 0 }
`,
  ),
}));

interface MadeKey {
  readonly id: string;
  readonly key: string;
}
const bodyOf = async <Body>(response: Response): Promise<Body> => (await response.json()) as Body;
const ofDay = (credits: number) => [{ limit_credits: credits, window: 'day', on_exhausted: 'reject' }];

const chat = ({ key }: MadeKey, more: object = {}) =>
  box.post(
    '/v1/chat/completions',
    { model: 'm', messages: [{ role: 'user', content: 'Hi.' }], max_tokens: 100, ...more },
    withKey(key),
  );

/** Sends chats with these keys in turn until one is refused. Returns the charges by key, and the refusal. */
async function spendAll(...keys: readonly MadeKey[]) {
  const charged = keys.map(() => 0);
  for (let at = 0; at < 200; at++) {
    const who = at % keys.length;
    const response = await chat(keys[who]!);
    if (response.status !== 200) return { charged, response };
    charged[who]! += Number(response.headers.get('x-signalbox-credits'));
  }
  throw new Error('nothing was refused');
}

interface ShownBudget {
  readonly spent_credits: number;
  readonly forecast_credits: number | null;
  readonly forecast_from: string | null;
}

describe('the money of a line of keys', () => {
  test('the child keys of a key spend its money; the refusal names the parent key and shows none of its figures', async () => {
    const scopes = ['chat', 'delegate'];
    const root = await bodyOf<MadeKey>(await box.post('/admin/keys', { scopes, budgets: ofDay(1) }));
    const child = await bodyOf<MadeKey>(await box.post('/v1/keys', { scopes, budgets: ofDay(100) }, withKey(root.key)));
    const grandchild = await bodyOf<MadeKey>(await box.post('/v1/keys', {}, withKey(child.key)));
    const { charged, response } = await spendAll(grandchild, child, root);
    const total = charged.reduce((sum, one) => sum + one, 0);
    expect(total).toBeLessThanOrEqual(1);
    expect(charged.every((one) => one > 0)).toBe(true);
    await expectError(response, 'insufficient_quota');
    const { details, message } = await expectError(await chat(grandchild), 'insufficient_quota');
    expect(message).toStartWith(
      `The daily budget of the parent key \`${root.id}\` of this API key has too little left`,
    );
    expect(details).toMatchObject({ budget: 'key-day', subject: root.id, level: 'key' });
    expect(details).not.toHaveProperty('spent_credits');

    const shown = await bodyOf<{ budgets: ShownBudget[] }>(await box.get(`/admin/keys/${root.id}`));
    expect(shown.budgets[0]?.spent_credits).toBeCloseTo(total, 6);
    const printed = await box.run('keys', 'show', root.id, '--json');
    const { budgets } = JSON.parse(printed.out) as { budgets: ShownBudget[] };
    expect(budgets[0]?.spent_credits).toBe(shown.budgets[0]!.spent_credits);
    // The child key has spent its own and its child key's charges.
    const ofChild = await bodyOf<{ budgets: ShownBudget[] }>(await box.get(`/admin/keys/${child.id}`));
    expect(ofChild.budgets[0]?.spent_credits).toBeCloseTo(charged[0]! + charged[1]!, 6);

    const own = await bodyOf<{ funds: { name: string; subject: string }[] }>(
      await box.get('/v1/usage', withKey(child.key)),
    );
    expect(own.funds.map(({ name, subject }) => [name, subject])).toEqual([['key-day', child.id]]);
  });

  test('child keys also share a policy budget for each key', async () => {
    const labels = { kind: 'shared' };
    const root = await bodyOf<MadeKey>(await box.post('/admin/keys', { scopes: ['chat', 'delegate'], labels }));
    const children = await Promise.all(
      [1, 2, 3].map(async () => bodyOf<MadeKey>(await box.post('/v1/keys', {}, withKey(root.key)))),
    );
    const { charged } = await spendAll(...children);
    expect(charged.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(1);
    const { message } = await expectError(await chat(children[0]!), 'insufficient_quota');
    expect(message).toStartWith(
      `The budget \`each\` of the parent key \`${root.id}\` of this API key has too little left`,
    );
  });

  test('child keys share the balance of a prepaid parent key', async () => {
    const root = await bodyOf<MadeKey>(await box.post('/admin/keys', { scopes: ['chat', 'delegate'] }));
    await box.post(`/admin/keys/${root.id}/grant`, { credits: 1 });
    const child = await bodyOf<MadeKey>(await box.post('/v1/keys', {}, withKey(root.key)));
    const { charged } = await spendAll(child);
    const shown = await bodyOf<{ balance: { spent_credits: number } }>(await box.get(`/admin/keys/${root.id}`));
    expect(shown.balance.spent_credits).toBeCloseTo(charged[0]!, 6);
    const { message } = await expectError(await chat(child), 'insufficient_quota');
    expect(message).toContain(`of the parent key \`${root.id}\` of this API key`);
  });
});

test('a budget shows its forecast for the end of its window, or when the forecast becomes available', async () => {
  const made = await bodyOf<MadeKey>(await box.post('/admin/keys', { budgets: ofDay(100) }));
  const spent = Number((await chat(made)).headers.get('x-signalbox-credits'));
  const { budgets } = await bodyOf<{ budgets: ShownBudget[] }>(await box.get(`/admin/keys/${made.id}`));
  const { funds } = await bodyOf<{ funds: (ShownBudget & { subject: string })[] }>(
    await box.get('/admin/ledger?name=key-day'),
  );
  const fund = funds.find(({ subject }) => subject === made.id);
  const midnight = new Date().setUTCHours(0, 0, 0, 0);
  const from = midnight + 8_640_000;
  const isEarly = Date.now() < from;
  for (const shown of [budgets[0], fund]) {
    expect(shown?.forecast_from).toBe(new Date(from).toISOString());
    if (isEarly) expect(shown?.forecast_credits).toBeNull();
    else expect(shown?.forecast_credits).toBeGreaterThanOrEqual(spent);
  }
  const { out } = await box.run('keys', 'show', made.id);
  expect(out).toMatch(isEarly ? /Credits spent in this window/ : /expected by the end of the window/);
});

test('commands show the spending of the budgets of a team and a user as the API does', async () => {
  interface Shown {
    readonly budgets: readonly Figures[];
    readonly in_force: { readonly budgets: readonly Figures[] };
  }
  type Figures = ShownBudget & { readonly left_credits: number };
  const members = { member_defaults: { budgets: ofDay(40) } };
  const team = await bodyOf<{ id: string }>(
    await box.post('/admin/teams', { name: 'printed', budgets: ofDay(90), ...members }),
  );
  const user = await bodyOf<{ id: string }>(await box.post('/admin/users', { name: 'Ada', team: 'printed' }));
  const made = await bodyOf<MadeKey>(await box.post('/admin/keys', { user: user.id }));
  const spent = Number((await chat(made)).headers.get('x-signalbox-credits'));
  expect(spent).toBeGreaterThan(0);
  const run = async (...args: string[]) => (await box.run(...args)).out;
  const usersOwn = async () => (JSON.parse(await run('users', 'show', user.id, '--json')) as Shown).in_force.budgets;
  await waitFor(async () => (await usersOwn())[0]?.spent_credits === spent);
  const [ofUser] = await usersOwn();
  const [ofTeam] = (JSON.parse(await run('teams', 'show', 'printed', '--json')) as Shown).budgets;
  expect([ofTeam?.spent_credits, ofTeam?.left_credits]).toEqual([spent, expect.closeTo(90 - spent, 6)]);
  expect([ofUser?.spent_credits, ofUser?.left_credits]).toEqual([spent, expect.closeTo(40 - spent, 6)]);
  const served = await bodyOf<Shown>(await box.get(`/admin/teams/${team.id}`));
  expect(served.budgets.map(({ spent_credits }) => spent_credits)).toEqual([spent]);
  expect(await run('teams', 'show', 'printed')).toMatch(
    /^budget +90 Credits \(0\.09 USD\) a day, .* Credits \(0\.\d+ USD\) spent in this window/m,
  );
  expect(await run('users', 'show', user.id)).toMatch(
    /^in force +budgets 40 Credits \(0\.04 USD\) a day, .* Credits \(0\.\d+ USD\) spent in this window/m,
  );
});

test('usage is grouped and filtered by the team and the user that a key belonged to', async () => {
  const made = await bodyOf<MadeKey>(await box.post('/admin/keys', {}));
  await chat(made);
  const by = async (query: string) => {
    const { groups } = await bodyOf<{ groups: { group: Record<string, string>; credits: number }[] }>(
      await box.get(`/admin/usage?key=${made.id}&${query}`),
    );
    return groups;
  };
  await waitFor(async () => (await by('by=key')).length === 1);
  expect((await by('by=team,user')).map(({ group }) => group)).toEqual([{ team_id: '', user_id: '' }]);
  expect(await by('by=key&team=team_none')).toEqual([]);
  expect(await by('by=key&user=user_none')).toEqual([]);
  const listed = await bodyOf<{ data: { team_id: string | null; user_id: string | null }[] }>(
    await box.get(`/admin/decisions?key=${made.id}`),
  );
  expect(listed.data).toMatchObject([{ team_id: null, user_id: null }]);
  expect(await bodyOf<object>(await box.get(`/admin/decisions?key=${made.id}&team=none`))).toMatchObject({ data: [] });
  const { out } = await box.run('ledger', 'usage', '--by', 'team,user', '--key', made.id);
  expect(out).toStartWith('TEAM ID');
});

describe('a key of a user in a team', () => {
  const setUp = async (name: string, team: object, user: object = {}) => {
    const ofTeam = await bodyOf<{ id: string }>(await box.post('/admin/teams', { name, ...team }));
    const ofUser = await bodyOf<{ id: string }>(
      await box.post('/admin/users', { name: `${name}’s Ada`, team: name, ...user }),
    );
    const keys = await Promise.all(
      [1, 2].map(async () => bodyOf<MadeKey>(await box.post('/admin/keys', { user: ofUser.id }))),
    );
    return { team: ofTeam.id, user: ofUser.id, first: keys[0]!, second: keys[1]! };
  };

  test('a key spends the budgets of its user and its team; the refusal names the level and its name', async () => {
    const { team, user, first, second } = await setUp('search', { budgets: ofDay(1) }, { budgets: ofDay(100) });
    const { charged, response } = await spendAll(first, second);
    const total = charged.reduce((sum, one) => sum + one, 0);
    expect(total).toBeLessThanOrEqual(1);
    const { details, message } = await expectError(response, 'insufficient_quota');
    expect(message).toStartWith('The daily budget of the team `search` has spent');
    expect(details).toMatchObject({ budget: 'team-day', subject: team, level: 'team', limit_credits: 1 });
    const { funds } = await bodyOf<{
      funds: { name: string; subject: string; title: string; spent_credits: number }[];
    }>(await box.get('/v1/usage', withKey(first.key)));
    expect(funds.map(({ title }) => title).sort()).toEqual(['day of team search', 'day of user search’s Ada']);
    const own = funds.map(({ name, subject, spent_credits }) => [name, subject, spent_credits.toFixed(6)]);
    expect(own.sort()).toEqual([
      ['team-day', team, total.toFixed(6)],
      ['user-day', user, total.toFixed(6)],
    ]);
    const { groups } = await bodyOf<{ groups: { group: object; credits: number }[] }>(
      await box.get(`/admin/usage?by=team,user&team=${team}`),
    );
    const called = { team_name: 'search', user_name: 'search’s Ada' };
    expect(groups.map(({ group }) => group)).toEqual([{ team_id: team, user_id: user, ...called }]);
    const { out } = await box.run('ledger', 'usage', '--by', 'team,user', '--team', team, '--json');
    expect(JSON.parse(out)).toMatchObject({ groups: [{ group: called }] });
    const { out: table } = await box.run('ledger', 'usage', '--by', 'team,model');
    expect(table).toMatch(/^TEAM ID +TEAM NAME +MODEL +/);
    expect((await box.run('ledger', 'usage', '--by', 'user', '--team', team)).out).toMatch(
      new RegExp(`${user} +search’s Ada`),
    );
    const named = await bodyOf<{ groups: object[] }>(await box.get('/admin/usage?by=team,user&team=search'));
    expect(named.groups).toEqual(groups);
    expect((await box.run('ledger', 'usage', '--by', 'user', '--team', 'search')).out).toContain(user);
    expect((await box.run('ledger', 'export', '--team', 'search')).out).toContain(first.id);
    expect((await box.run('ledger', 'status')).out).toContain('day of team search');
    expect((await box.run('keys', 'list', '--team', 'search')).out).toMatch(
      new RegExp(`${team} +search +${user} +search’s Ada$`, 'm'),
    );
    expect((await box.run('keys', 'show', first.id)).out).toMatch(new RegExp(`^user +${user}$`, 'm'));
    const ofTeam = await bodyOf<{ data: { id: string }[] }>(await box.get('/admin/keys?team=search'));
    expect(ofTeam.data.map(({ id }) => id).sort()).toEqual([first.id, second.id].sort());
    expect(await bodyOf<object>(await box.get('/admin/traffic?team=search'))).toMatchObject({ object: 'traffic' });
    expect(groups[0]?.credits).toBeCloseTo(total, 6);
    const listed = await bodyOf<{ data: object[] }>(await box.get(`/admin/decisions?team=search&user=${user}&limit=1`));
    expect(listed.data).toMatchObject([{ team_id: team, user_id: user }]);
    expect(JSON.parse((await box.run('ledger', 'audit', '--json')).out)).toMatchObject({ findings: [] });
  });

  test('the budgets shown for a team and a user include the spending of their keys, by the active terms', async () => {
    const memberDefaults = { member_defaults: { models: ['m'], budgets: ofDay(7) } };
    const { team, user, first, second } = await setUp('shown', { budgets: ofDay(50), ...memberDefaults });
    const charges = await Promise.all([chat(first), chat(second)]);
    const spent = charges.reduce((sum, { headers }) => sum + Number(headers.get('x-signalbox-credits')), 0);
    const shown = async (path: string) => await bodyOf<{ budgets: object; in_force: object }>(await box.get(path));
    const use = (limit: number) => ({
      ...{ limit_credits: limit, window: 'day', time_zone: 'UTC', on_exhausted: 'reject' },
      spent_credits: expect.closeTo(spent, 6),
      left_credits: expect.closeTo(limit - spent, 6),
      forecast_from: expect.any(String),
      renews_at: expect.any(String),
    });
    expect(await shown(`/admin/teams/${team}`)).toMatchObject({ id: team, budgets: [use(50)] });
    const member = await shown(`/admin/users/${user}`);
    expect(member).toMatchObject({ id: user, budgets: null });
    expect(member.in_force).toMatchObject({ models: ['m'], limits: null, budgets: [use(7)] });
    // The user's own budget replaces the budget for members, and has counted the user's spending.
    await box.post(`/admin/users/${user}`, { budgets: ofDay(9) }, { method: 'PATCH' });
    expect((await shown(`/admin/users/${user}`)).in_force).toMatchObject({ models: ['m'], budgets: [use(9)] });
  });

  test('a key may use the models that its team may use, and shares the team’s rate limits', async () => {
    const limits = { requests_per_minute: 1 };
    const { first, second } = await setUp('ads', { limits });
    expect((await chat(first)).status).toBe(200);
    const { message, details } = await expectError(await chat(second), 'rate_limit_exceeded');
    expect(message).toStartWith('The rate limit of the team `ads` allows 1 request a minute');
    expect(details).toMatchObject({ limit: 'team' });
    const closed = await setUp('closed', { models: ['other'] });
    const refusal = await expectError(await chat(closed.first), 'insufficient_permissions', 'model');
    expect(refusal.message).toBe('The team `closed` may not use the model `m`.');
    const listed = await expectError(
      await box.get('/v1/models/m', withKey(closed.first.key)),
      'model_not_found',
      'model',
    );
    expect(listed.message).toBe('The team `closed` may not use the model `m`.');
    const constraints = { max_latency_ms: 1 };
    const chosen = await expectError(await chat(closed.first, { model: 'auto', constraints }), 'no_eligible_model');
    expect(chosen.details).toMatchObject({
      rejected: [
        { model: 'm', reasons: ['the team `closed` may not use it', expect.any(String)] },
        { model: 'other', reasons: [expect.stringContaining('max_latency_ms')] },
      ],
    });
    const own = await bodyOf<MadeKey>(await box.post('/admin/keys', { models: ['other'] }));
    const ofKey = await expectError(await chat(own, { model: 'auto', constraints }), 'no_eligible_model');
    expect(JSON.stringify(ofKey.details)).toContain('this API key may not use it');
  });
});
