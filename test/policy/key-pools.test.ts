import { expect, test } from 'bun:test';
import { hasBit } from '../../src/core/policy/rules.ts';
import { contextOf, load, loadText, snapshotOf } from './support.ts';

const POLICY = `version: 1
providers:
  pool: { adapter: openai-compatible, base_url: "http://pool.example/v1", api_keys_env: [A, { api_key_env: B, weight: 3 }, LEFT_OUT] }
  one: { adapter: openai-compatible, base_url: "http://one.example/v1" }
models:
  m:
    spread: weighted
    endpoints: [{ provider: one, weight: 30 }, { provider: pool, weight: 60 }, { provider: one, upstream: other }]
    price: { input: 1, output: 4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 8192
    quality: { default: 0.5, basis: guessed }
constraints:
  - { name: not-the-pool, require: 'endpoint.provider != "pool"' }
`;

test('the keys of a pool divide the weight of their endpoint, and a rule applies to each of them', () => {
  const { models, constraints } = snapshotOf(loadText(POLICY, { A: 'the-first-key', B: 'the-second-key' }));
  const [{ endpoints, firstSlot }] = models as [(typeof models)[number]];
  expect(endpoints.map(({ provider, account = 0, weight = 1 }) => [provider, account, weight])).toEqual([
    ['one', 0, 30],
    ['pool', 0, 15],
    ['pool', 1, 45],
    ['one', 0, 1],
  ]);
  const { allows } = constraints[0]!;
  expect(endpoints.map((_, at) => hasBit(allows!, firstSlot + at))).toEqual([true, false, false, true]);
});

test('a token source is one key of a pool, also before its first token', () => {
  const env = { A: 'the-first-key', B: 'never read' };
  const token = { variable: 'B', hosts: ['http://pool.example'], file: 'c.yaml', token: () => null, problem: () => '' };
  const variables = { ...contextOf(env).env, sourced: (name: string) => (name === 'B' ? token : undefined) };
  const { providers } = snapshotOf(load([{ path: 'p.yaml', text: POLICY }], {}, { env: variables }));
  expect(providers.get('pool')!.accounts.map(({ apiKeyEnv }) => apiKeyEnv)).toEqual(['A', 'B']);
});
