import { describe, expect, test } from 'bun:test';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** Lists of models of keys, teams and users: an entry that allows nothing is reported, and the change is made. */
const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    { fake: upstream.url },
    { best: { endpoints: ['fake'], more: '    aliases: [claude-best]\n' }, 'gpt-large': { endpoints: ['fake'] } },
  ).replace(
    'providers:\n',
    `providers:\n  openai: { preset: openai, base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY, serves: "*" }\n  mistral: { preset: mistral, serves: "*" }\n`,
  ),
}));

const MISSPELT = 'The policy has no model `gpt-lagre`. Did you mean `gpt-large`?';

describe('a list of models', () => {
  test.each([
    ['gpt-lagre', MISSPELT],
    ['auto', '`auto` is no model but the name of a selector.'],
    ['claude-best', '`claude-best` is another name of `best`.'],
    ['gpt-4o-mini', '`gpt-4o-mini` is another name of `openai/gpt-4o-mini`.'],
    ['zzz', 'The policy has no model `zzz`.'],
  ])('with %s gets a warning from `keys create`, and the key is created', async (entry, warning) => {
    const { code, out, err } = await box.run('keys', 'create', '--model', 'best', '--model', entry);
    expect([code, out, err]).toEqual([0, expect.stringContaining('sb_live_'), expect.stringContaining(warning)]);
  });

  test.each(['best', 'openai/*', 'openai/gpt-4o-mini', 'mistral/*', 'mistral/some-model'])(
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
    expect((await box.run('keys', 'create', '--model', 'other', '--model', 'best', '--offline')).err).not.toContain(
      'no model',
    );
  });
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
