import { describe, expect, test } from 'bun:test';
import { PEER_PATHS } from '../../src/http/kit/unknown-path.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** Lists of models of keys, teams and users: an entry that allows nothing is reported, and the change is made. */
const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    { fake: upstream.url },
    { best: { endpoints: ['fake'], more: '    aliases: [claude-best]\n' }, 'gpt-large': { endpoints: ['fake'] } },
  )
    .replace(
      'providers:\n',
      `providers:\n  absent: { adapter: openai-compatible, base_url: "http://127.0.0.1:9/v1", api_key_env: ABSENT_KEY }\n  openai: { preset: openai, base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY, serves: "*" }\n  mistral: { preset: mistral, serves: "*" }\n`,
    )
    .replace(
      'models:\n',
      'models:\n  night-owl: { provider: absent, price: { input: 1, output: 4 }, context_window: 8192, max_output: 2048, quality: { default: 0.5 } }\n',
    ),
}));

const MISSPELT = 'The policy has no model `gpt-lagre`. Did you mean `gpt-large`?';

describe('a list of models', () => {
  test.each([
    ['gpt-lagre', MISSPELT],
    ['auto', '`auto` is no model but the name of a selector.'],
    ['claude-best', '`claude-best` is another name of `best`.'],
    ['gpt-4o-mini', '`gpt-4o-mini` is another name of `openai/gpt-4o-mini`.'],
    ['night-owll', 'The policy has no model `night-owll`. Did you mean `night-owl`?'],
    ['zzz', 'The policy has no model `zzz`.'],
  ])('with %s gets a warning from `keys create`, and the key is created', async (entry, warning) => {
    const { code, out, err } = await box.run('keys', 'create', '--model', 'best', '--model', entry);
    expect([code, out, err]).toEqual([0, expect.stringContaining('sb_live_'), expect.stringContaining(warning)]);
  });

  test.each(['best', 'night-owl', 'openai/*', 'openai/gpt-4o-mini', 'mistral/*', 'mistral/some-model'])(
    'with %s gets no warning',
    async (entry) => {
      const { code, err } = await box.run('keys', 'create', '--model', entry);
      expect([code, err]).toEqual([0, '']);
    },
  );

  test('gets the warning at every command and route that states one', async () => {
    const { id } = JSON.parse((await box.run('keys', 'create', '--json')).out) as { id: string };
    const team = JSON.parse((await box.run('teams', 'create', '--name', 'search', '--json')).out) as { id: string };
    for (const words of [
      ['keys', 'change', id],
      ['teams', 'change', team.id],
      ['teams', 'create', '--name', 'ads'],
      ['users', 'create', '--name', 'Ada', '--team', 'search'],
    ]) {
      const { code, err } = await box.run(...words, '--model', 'gpt-lagre');
      expect([code, err]).toEqual([0, expect.stringContaining(MISSPELT)]);
    }
    const answer = await box.post('/admin/teams', {
      name: 'sales',
      member_defaults: { models: ['gpt-lagre', 'best'] },
    });
    expect([answer.status, decodeURIComponent(answer.headers.get('x-signalbox-warnings') ?? '')]).toEqual([
      200,
      MISSPELT,
    ]);
    const fine = await box.post('/admin/teams', { name: 'design', models: ['best'] });
    expect([fine.status, fine.headers.get('x-signalbox-warnings')]).toEqual([200, null]);
  });

  test('gets the suggestion without a running server, from the policy that served last', async () => {
    const { code, err } = await box.run('keys', 'create', '--model', 'gpt-lagre', '--offline');
    expect([code, err]).toEqual([0, expect.stringContaining(MISSPELT)]);
    const absent = await box.run('keys', 'create', '--model', 'night-owll', '--offline');
    expect(absent.err).toContain('Did you mean `night-owl`?');
    for (const entry of ['other', 'best', 'night-owl']) {
      expect((await box.run('keys', 'create', '--model', entry, '--offline')).err).not.toContain('no model');
    }
  });
});

test('the error for a path of another gateway names a path that exists', async () => {
  for (const [path, command] of [
    ['/key/generate', 'signalbox keys create'],
    ['/v1/budget/new', 'signalbox keys create --budget'],
    ['/api/v1/credits', 'signalbox ledger status'],
  ] as const) {
    const answer = await box.post(path, { models: ['best'] });
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining(command)]);
  }
  for (const [, own] of PEER_PATHS) {
    const path = own.split(' ').at(-1)!;
    expect([path, (await box.get(path)).status]).toEqual([path, 200]);
  }
});

test('a flag for shares of a team’s budget leads to the alert rule that watches all budgets', async () => {
  const { code, err } = await box.run(
    'teams',
    'create',
    '--name',
    'finance',
    '--budget',
    '100/month',
    '--alert-at',
    '0.5',
  );
  expect([code, err]).toEqual([1, expect.stringContaining('on: budget_share')]);
});

describe('offline, of a policy without wildcards', () => {
  const closed = useSignalbox(() => ({
    policy: testPolicy(
      { fake: upstream.url },
      { 'gpt-6-luna': { endpoints: ['fake'] }, best: { endpoints: ['fake'] } },
    ),
  }));

  test('an unknown model of `keys create` gets the nearest names', async () => {
    const { code, err } = await closed.run('keys', 'create', '--model', 'gpt-5-luna', '--offline');
    expect([code, err]).toEqual([0, expect.stringContaining('The nearest name is `gpt-6-luna`.')]);
  });
});
