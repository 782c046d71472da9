import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Static } from '@sinclair/typebox';
import type { Decision, DecisionRepeat } from '../../src/admin/decision.ts';
import type { DecisionList } from '../../src/admin/decision-list.ts';
import type { DecisionMoney } from '../../src/admin/decision-money.ts';
import { adviceOf, answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type LivePolicy, startLivePolicy } from '../support/live-policy.ts';
import { testPolicy, UPSTREAM_KEY } from '../support/policies.ts';

/** The test reads all details of a request: the times of its attempts, its money, and the decision under the active policy. */
let upstream: FakeUpstream;
let spare: FakeUpstream;
let live: LivePolicy;

const policyWith = (more = '') =>
  testPolicy(
    { first: upstream.url, second: spare.url },
    {
      best: { endpoints: ['first'], price: { input: 0.7, output: 3.3 }, quality: 0.9 },
      other: { endpoints: ['second'], quality: 0.6 },
    },
    `baseline: best\nconsole: { trace_url: "https://traces.test/search?id={decision_id}" }\n${more}`,
  );

beforeAll(async () => {
  [upstream, spare] = [startFakeUpstream({ key: UPSTREAM_KEY }), startFakeUpstream({ key: UPSTREAM_KEY })];
  const usage = { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 };
  for (const one of [upstream, spare]) one.behave({ usage });
  live = await startLivePolicy({ 'policy.yaml': policyWith() });
});
afterAll(() => Promise.all([live.stop(), upstream.stop(), spare.stop()]));

async function ask(model: string): Promise<string> {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const answer = await live.box.post('/v1/chat/completions', { model, messages, max_tokens: 100 });
  return (await answerOf(answer)).platform.decision_id;
}

async function read(path: string): Promise<unknown> {
  const response = await live.box.get(path);
  const body: unknown = await response.json();
  expect([response.status, body]).toEqual([200, expect.anything()]);
  return body;
}
const moneyOf = async (id: string) => (await read(`/admin/decisions/${id}/money`)) as Static<typeof DecisionMoney>;
const repeatOf = async (id: string) => (await read(`/admin/decisions/${id}/repeat`)) as Static<typeof DecisionRepeat>;

test('the ledger entries and export lines of a request add up to its charge', async () => {
  const id = await ask('best');
  const money = await moneyOf(id);
  expect(money).toMatchObject({ decision_id: id, state: 'settled', usd_per_credit: '0.001' });
  expect(money.entries.map(({ kind }) => kind)).toEqual(['reserve', 'settle']);
  const { held, charged, released, overrun, refunded } = money.sums;
  expect([held.credits, charged.credits, overrun.credits, refunded.credits]).toEqual([0.3594, 0.172, 0, 0]);
  expect([charged.usd, held.credits - released.credits]).toEqual(['0.000172', expect.closeTo(0.172, 9)]);
  const lines = money.entries[1]?.lines ?? [];
  expect(money.entries[1]).toMatchObject({ model: 'best', provider: 'first', estimated: false });
  expect(lines.map(({ item, units, per, rate_usd, usd }) => [item, units, per, rate_usd, usd])).toEqual([
    ['input', 10, 1_000_000, '0.7', '0.000007'],
    ['output', 50, 1_000_000, '3.3', '0.000165'],
  ]);
  expect(lines.reduce((sum, { credits }) => sum + credits, 0)).toBeCloseTo(0.172, 9);
  expect(await live.box.run('ledger', 'refund', id, '0.1')).toMatchObject({ code: 0 });
  expect((await moneyOf(id)).sums).toMatchObject({ charged: { credits: 0.172 }, refunded: { credits: 0.1 } });
  for (const path of ['money', 'repeat'])
    await expectError(await live.box.get(`/admin/decisions/dec_00000000000/${path}`), 'not_found');
});

test('each attempt of a decision shows when it began; a recommendation has no attempts and no money', async () => {
  upstream.next({ status: 503, error: 'busy' });
  const id = await ask('auto');
  const decision = (await read(`/admin/decisions/${id}`)) as Static<typeof Decision>;
  const { outcome } = decision;
  expect([decision.trace_url, decision.key_id]).toEqual([
    `https://traces.test/search?id=${id}`,
    live.box.key.split('_')[2] ?? '',
  ]);
  const attempts = outcome?.attempts ?? [];
  expect(attempts.map(({ model, failure }) => [model, failure])).toEqual([
    ['best', 'overloaded'],
    ['other', null],
  ]);
  let end = 0;
  for (const { start_ms, ms } of attempts) {
    // Each time is rounded separately.
    expect(start_ms).toBeGreaterThanOrEqual(end - 1);
    end = (start_ms ?? Number.NaN) + ms;
  }
  expect(end).toBeLessThanOrEqual((outcome?.total_ms ?? 0) + 1);
  const { decision_id } = await adviceOf(await live.box.post('/v1/route', { task_type: 'general' }));
  expect(await moneyOf(decision_id)).toMatchObject({
    state: 'none',
    entries: [],
    sums: { held: { usd: '0' } },
  });
});

test('Signalbox decides a stored request again with the active policy and its rules, and makes no record', async () => {
  const id = await ask('auto');
  const count = async () => ((await read('/admin/decisions')) as Static<typeof DecisionList>).data.length;
  const [before, records] = [await repeatOf(id), await count()];
  expect(before).toMatchObject({ choice: 'best', recorded_choice: 'best', refusal: null });
  const rule = `- { name: no-best, when: 'request.stream == false', require: 'model.id != "best"' }`;
  const { revision } = await live.status();
  live.replace('policy.yaml', policyWith(`constraints:\n  ${rule}\n`));
  await live.changedFrom(revision);
  const after = await repeatOf(id);
  expect(after).toMatchObject({ choice: 'other', recorded_choice: 'best', refusal: null });
  expect(after.policy_revision).not.toBe(before.policy_revision);
  expect(after.constraints).toMatchObject([{ name: 'no-best', file: 'policy.yaml' }]);
  expect(after.candidates?.find(({ model }) => model === 'best')?.rejections).toMatchObject([{ kind: 'constraint' }]);
  live.replace(
    'policy.yaml',
    policyWith()
      .replace(/^ {2}best:/m, '  renamed:')
      .replace('baseline: best', 'baseline: other'),
  );
  await live.changedFrom(after.policy_revision);
  const named = await repeatOf(id);
  expect(named).toMatchObject({ choice: 'renamed', recorded_choice: 'best' });
  expect(await count()).toBe(records);
});
