import { describe, expect, test } from 'bun:test';
import type { ErrorCode } from '../../src/core/errors.ts';
import { answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useLivePolicy, useSignalbox, useUpstream } from '../support/use.ts';

const upstream = useUpstream();
// A Credit is worth 0.003 USD, so that few amounts of USD are whole Credits.
const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: upstream.url },
    { best: { endpoints: ['first'], price: { input: 1, output: 4 } } },
  ).replace('usd_per_credit: 0.001', 'usd_per_credit: 0.003'),
}));

interface Answer {
  readonly id: string;
  readonly key: string;
  readonly budgets: readonly { readonly limit_credits: number; readonly limit_usd: string }[];
  readonly balance: { readonly granted_credits: number };
  readonly member_defaults: Pick<Answer, 'budgets'>;
}
const sent = async (path: string, body: object, method = 'POST'): Promise<Answer> => {
  const { headers } = withKey(box.key);
  const init = { method, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(`${box.url}${path}`, init);
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
};
const run = async (...args: string[]) => {
  const { code, out, err } = await box.run(...args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
};

const AMOUNTS: readonly (readonly [unknown, number])[] = [
  [20, 20],
  ['20', 20],
  ['20,000', 20_000],
  ['$20', 6_666.666666],
  ['20 USD', 6_666.666666],
  ['1,204.5 Credits', 1_204.5],
];

describe.each(AMOUNTS)('the amount %p becomes Credits, rounded down', (amount, credits) => {
  test('in the budgets of keys, teams, members and people, and in a grant', async () => {
    const budgets = [{ limit_credits: amount, window: 'month' }];
    const made = await sent('/admin/keys', { budgets });
    expect(made.budgets[0]?.limit_credits).toBe(credits);
    expect((await sent(`/admin/keys/${made.id}`, { budgets }, 'PATCH')).budgets[0]?.limit_credits).toBe(credits);
    const team = await sent('/admin/teams', {
      name: `${typeof amount} ${String(amount)}`,
      budgets,
      member_defaults: { budgets },
    });
    expect([team, team.member_defaults].map((one) => one.budgets[0]?.limit_credits)).toEqual([credits, credits]);
    const user = await sent('/admin/users', { name: 'Ann', team: team.id, budgets });
    expect(user.budgets[0]?.limit_credits).toBe(credits);
    const granted = await sent(`/admin/keys/${made.id}/grant`, { credits: amount });
    expect(granted.balance.granted_credits).toBe(credits);
  });

  test('in the answer that the console shows under a field', async () => {
    const answer = await box.get(`/admin/amount?${new URLSearchParams({ amount: String(amount) })}`);
    const usd = { 20: '0.06', 20000: '60', 6666.666666: '19.999999998', 1204.5: '3.6135' }[credits];
    expect(await answer.json()).toEqual({ object: 'amount', credits, usd });
  });

  test('on the command line', async () => {
    const made = JSON.parse(await run('keys', 'create', '--budget', `${String(amount)}/month`, '--json')) as Answer;
    expect(made.budgets[0]?.limit_credits).toBe(credits);
    const granted = JSON.parse(await run('keys', 'grant', made.id, String(amount), '--json')) as Answer;
    expect(granted.balance.granted_credits).toBe(credits);
  });
});

test('a budget can state its limit in USD, in bodies for keys, teams, members and people', async () => {
  const { id, budgets } = await sent('/admin/keys', { budgets: [{ limit_usd: 20, window: 'month' }] });
  const limits = [budgets[0]?.limit_credits];
  for (const limit_usd of ['20', '$20', '20 USD', 20]) {
    const stated = [{ limit_usd, window: 'month' }];
    const team = await sent('/admin/teams', {
      name: `usd ${limits.length}`,
      budgets: stated,
      member_defaults: { budgets: stated },
    });
    const user = await sent('/admin/users', { name: 'Ann', team: team.id, budgets: stated });
    const changed = await sent(`/admin/keys/${id}`, { budgets: stated }, 'PATCH');
    limits.push(...[team, team.member_defaults, user, changed].map((one) => one.budgets[0]?.limit_credits));
  }
  expect(limits).toEqual(Array(17).fill(6_666.666666));
  const { key } = await sent('/admin/keys', { scopes: ['chat', 'delegate'] });
  const child = await box.post('/v1/keys', { budgets: [{ limit_usd: 3, window: 'total' }] }, withKey(key));
  expect(((await child.json()) as Answer).budgets[0]?.limit_credits).toBe(1_000);
});

test('a budget states its limit once: neither, both, and Credits in the field for USD are refused with what is right', async () => {
  const refusals: readonly (readonly [object, ErrorCode, string, RegExp])[] = [
    [{}, 'missing_field', 'limit_credits', /`limit_credits` or `limit_usd`/],
    [{ limit_credits: 20, limit_usd: 20 }, 'invalid_value', 'limit_usd', /not both/],
    [{ limit_usd: '20 Credits' }, 'invalid_value', 'limit_usd', /use `budgets\[0\]\.limit_credits`/],
    [{ limit_usd: '20,5' }, 'invalid_value', 'limit_usd', /20\.5 or 205/],
    [{ limit_usd: '20 EUR' }, 'invalid_value', 'limit_usd', /20 USD/],
    [{ limit_usd: -1 }, 'out_of_range', 'limit_usd', /from 0|at least 0/],
    [{ limit_usd: 4_000_000 }, 'out_of_range', 'limit_usd', /1000000000 Credits/],
    [{ limit_usd: 1e308 }, 'out_of_range', 'limit_usd', /1000000000000\b/],
  ];
  for (const [limit, code, field, message] of refusals) {
    const budgets = [{ ...limit, window: 'month' }];
    const error = await expectError(await box.post('/admin/keys', { budgets }), code, `budgets[0].${field}`);
    expect(error.message).toMatch(message);
  }
});

describe('a budget of 0', () => {
  test.each(['0/day', '$0.0000000001/day', '0 Credits/today'])(
    'from --budget %s is created with a warning',
    async (budget) => {
      const { code, out, err } = await box.run('keys', 'create', '--budget', budget);
      expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('20USD/day') });
      expect(out).toMatch(/0 Credits \(0 USD\) a day, only for free requests/);
    },
  );

  test('is warned about at teams, members and people too, and a larger one is not', async () => {
    const { headers } = withKey(box.key);
    const warningOf = async (path: string, body: object) => {
      const init = {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      };
      const response = await fetch(`${box.url}${path}`, init);
      expect(response.status).toBe(200);
      return response.headers.get('x-signalbox-warnings');
    };
    const none = [{ limit_usd: 0.0000000001, window: 'day' }];
    expect(await warningOf('/admin/teams', { name: 'poor', budgets: none })).not.toBeNull();
    expect(await warningOf('/admin/teams', { name: 'thrifty', member_defaults: { budgets: none } })).not.toBeNull();
    expect(await warningOf('/admin/users', { name: 'Ida', budgets: none })).not.toBeNull();
    const some = [{ limit_credits: 0.000001, window: 'day' }];
    expect(
      await warningOf('/admin/teams', { name: 'rich', budgets: some, member_defaults: { budgets: some } }),
    ).toBeNull();
  });

  test('an amount whose first digits a shell replaced leads to single quotes', async () => {
    for (const budget of ['/day', '.50/day']) {
      const { code, err } = await box.run('keys', 'create', '--budget', budget);
      expect(code).not.toBe(0);
      expect(err).toContain('single quotes');
    }
  });
});

test('the answer to an amount in USD shows the Credits and their exact worth', async () => {
  const text = await run('keys', 'create', '--budget', '20USD/month@Europe/Berlin:downgrade');
  expect(text).toContain('6,666.666666 Credits (19.999999998 USD) a month, Berlin time');
  const { budgets } = await sent('/admin/keys', { budgets: [{ limit_credits: '$3', window: 'day' }] });
  expect(budgets).toMatchObject([{ limit_credits: 1_000, limit_usd: '3' }]);
  const { id } = await sent('/admin/keys', {});
  expect(await run('keys', 'grant', id, '$3')).toContain('1,000 Credits (3 USD)');
  expect(await run('keys', 'grant', id, '-$1.50')).toContain('500 Credits (1.5 USD)');
});

test('a child key can state its budget in USD', async () => {
  const { key } = await sent('/admin/keys', { scopes: ['chat', 'delegate'] });
  const response = await box.post('/v1/keys', { budgets: [{ limit_credits: '$3', window: 'total' }] }, withKey(key));
  expect(((await response.json()) as Answer).budgets[0]?.limit_credits).toBe(1_000);
});

test('a refund can be stated in USD', async () => {
  const body = { model: 'best', messages: [{ role: 'user', content: 'Hi.' }] };
  const { platform } = await answerOf(await box.post('/v1/chat/completions', body));
  const cost = platform.credits_consumed * 0.003;
  expect(cost).toBeGreaterThan(0);
  const half = `$${(cost / 2).toFixed(9)}`;
  expect(await run('ledger', 'refund', platform.decision_id, half)).toStartWith('Refunded ');
  const again = await box.run('ledger', 'refund', platform.decision_id, '$1,5');
  expect(again.code).not.toBe(0);
  expect(again.err).toMatch(/1\.5 USD or 15 USD/);
});

test('an ambiguous, foreign, too large or too exact amount is refused at its field, with both readings', async () => {
  const refusals: readonly (readonly [unknown, ErrorCode, RegExp])[] = [
    ['20,5', 'invalid_value', /20\.5 or 205/],
    ['1.000,50', 'invalid_value', /1,000\.5 or 1\.0005/],
    ['1.000', 'invalid_value', /1,000 or 1\./],
    ['$1.000', 'invalid_value', /1,000 USD or 1 USD/],
    ['20 EUR', 'invalid_value', /20 USD/],
    ['$0,500', 'invalid_value', /0\.5 USD or 500 USD/],
    ['0.0000001', 'invalid_value', /6 decimals/],
    ['$4,000,000', 'out_of_range', /1000000000 Credits/],
    ['-$1', 'out_of_range', /from 0/],
    [-1, 'out_of_range', /from 0/],
    [true, 'invalid_type', /number or a string/],
  ];
  for (const [amount, code, message] of refusals) {
    const budgets = [{ limit_credits: amount, window: 'month' }];
    const error = await expectError(await box.post('/admin/keys', { budgets }), code, 'budgets[0].limit_credits');
    expect(error.message).toMatch(message);
  }
  const { code, err } = await box.run('keys', 'create', '--budget', '1.000,50/month');
  expect(code).not.toBe(0);
  expect(err).toMatch(/--budget: "1\.000,50" can mean 1,000\.5 or 1\.0005/);
  const grouped = await box.run('keys', 'create', '--budget', '1.000/day');
  expect([grouped.code, grouped.err]).toEqual([1, expect.stringContaining('"1.000" can mean 1,000 or 1.')]);
  // A number of JSON has no groups.
  const made = await box.post('/admin/keys', { budgets: [{ limit_usd: 1.234, window: 'day' }] });
  expect(made.status).toBe(200);
});

const priced = (worth: string) =>
  testPolicy(
    { first: upstream.url },
    { best: { endpoints: ['first'] } },
    'budgets: [{ name: all, limit_usd: 30, window: month }]\n',
  ).replace('usd_per_credit: 0.001', `usd_per_credit: ${worth}`);
const live = useLivePolicy(() => ({ 'policy.yaml': priced('0.003') }));

test('a new worth of a Credit changes amounts in policy files, and no stored amount', async () => {
  const budgets = [{ limit_credits: '$3', window: 'day' }];
  const { id } = (await (await live.box.post('/admin/keys', { budgets })).json()) as Answer;
  const limits = async () => {
    const key = (await (await live.box.get(`/admin/keys/${id}`)).json()) as Answer;
    const status = (await (await live.box.get('/admin/ledger?name=all')).json()) as {
      funds: readonly { limit_credits: number; limit_usd: string }[];
    };
    return [key.budgets[0]?.limit_credits, status.funds[0]?.limit_credits];
  };
  expect(await limits()).toEqual([1_000, 10_000]);
  const { revision } = await live.status();
  live.replace('policy.yaml', priced('0.001'));
  await live.changedFrom(revision);
  expect(await limits()).toEqual([1_000, 30_000]);
});
