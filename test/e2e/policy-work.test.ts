import { afterEach, describe, expect, test } from 'bun:test';
import { deeply } from '../deep/deeply.ts';
import { answerOf } from '../support/answers.ts';
import { type LivePolicy, startLivePolicy } from '../support/live-policy.ts';
import { testPolicy } from '../support/policies.ts';
import { useUpstream } from '../support/use.ts';

/** Policies that would delay every request, or their own load, are refused with their location, while the earlier policy stays active. */

const hello = [{ role: 'user', content: 'Say hello.' }];
const upstream = useUpstream();
let live: LivePolicy | null = null;

afterEach(async () => {
  await live?.stop();
  live = null;
});

const policy = (more: string) => testPolicy({ first: upstream.url }, { one: { endpoints: ['first'] } }, more);
const rule = (when: string, limits = 'max_cost_credits: 1000') =>
  `constraints:\n  - name: rule\n    ${limits}\n    when: ${JSON.stringify(when)}\n`;

async function start(more: string): Promise<LivePolicy> {
  live = await startLivePolicy({ 'policy.yaml': policy(more) });
  return live;
}

const ask = async ({ box }: LivePolicy, more: object = {}) =>
  box.post('/v1/chat/completions', { model: 'auto', messages: hello, ...more });

/** Saves a policy that must be refused, and returns the diagnostics. */
async function refusalOf(saved: string) {
  const policyInForce = await start('');
  const { revision } = await policyInForce.status();
  policyInForce.write('policy.yaml', saved);
  const { last_reload: last } = await policyInForce.refused(20_000);
  expect(await answerOf(await ask(policyInForce))).toMatchObject({ platform: { policy_revision: revision } });
  return { ...last, lines: saved.split('\n') };
}

const IN_THE_FILE = expect.stringMatching(/policy\.yaml$/);

const LOOP = '[1, 2, 3, 4, 5, 6, 7].all(';
const SIX_LOOPS = `${[...'abcdef'].map((name) => `${LOOP}${name}, `).join('')}a + b + c + d + e + f > 0${')'.repeat(6)}`;

describe('a policy is refused with the location, and the earlier policy stays active:', () => {
  test('six nested loops, which would slow down every request', async () => {
    const { diagnostics, lines } = await refusalOf(policy(rule(SIX_LOOPS)));
    const line = lines.findIndex((one) => one.includes('when:')) + 1;
    expect(diagnostics).toMatchObject([{ code: 'cel-too-costly', file: IN_THE_FILE, line }]);
  });

  test('digits that a caller chooses, parsed as a duration', async () => {
    const { diagnostics } = await refusalOf(policy(rule('duration(request.user) > duration("1h")')));
    expect(diagnostics).toMatchObject([{ code: 'cel-too-costly', file: IN_THE_FILE }]);
  });

  test('50,000 negation signs', async () => {
    const { diagnostics, lines } = await refusalOf(policy(rule(`${'!'.repeat(50_000)}true`)));
    const line = lines.findIndex((one) => one.includes('when:')) + 1;
    expect(diagnostics).toMatchObject([{ file: IN_THE_FILE, line }]);
    expect(diagnostics[0]?.message).not.toContain('call stack');
  });

  test('4,000 nested lists', async () => {
    const options = `selectors: { deep: { strategy: auto, options: { a: ${'['.repeat(4_000)}${']'.repeat(4_000)} } } }\n`;
    const closed = await refusalOf(policy(options));
    expect(closed.diagnostics.map(({ code }) => code)).toContain('yaml-syntax');
  });

  deeply('30,000 unknown tags', async () => {
    const { diagnostics } = await refusalOf(`${policy('')}tasks: [${'!x 1,'.repeat(30_000)}]\n`);
    expect(diagnostics.map(({ code }) => code)).toContain('yaml-feature');
    expect(diagnostics.length).toBeLessThan(20);
  });
});

describe('a condition that reads more than conditions may read counts as true', () => {
  const statusOf = async (policyInForce: LivePolicy, more: object) => {
    const answer = await ask(policyInForce, more);
    await answer.text();
    return answer.status;
  };

  test('a condition on large `user` and `metadata` values counts as true, only if it reads them', async () => {
    const policyInForce = await start(
      rule(
        'request.user.contains("nobody") || request.metadata.exists(k, k == "nobody")',
        'require: model.price.output > 1000.0',
      ),
    );
    const long = 'x'.repeat(1025);
    const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));
    expect(await statusOf(policyInForce, { user: long.slice(1), metadata: entries(64) })).toBe(200);
    expect(await statusOf(policyInForce, { user: long })).toBe(422);
    expect(await statusOf(policyInForce, { metadata: entries(65) })).toBe(422);
    expect(await statusOf(policyInForce, { metadata: { k: long } })).toBe(422);
    policyInForce.write(
      'policy.yaml',
      policy(rule('request.task == "coding"', 'require: model.price.output > 1000.0')),
    );
    await policyInForce.reload();
    expect(await statusOf(policyInForce, { user: long, metadata: { ...entries(65), k: long } })).toBe(200);
  });
});
