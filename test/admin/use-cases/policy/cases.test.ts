import { beforeAll, describe, expect, test } from 'bun:test';
import { buildCandidate, isRejected } from '../../../../src/policy/runtime/candidate.ts';
import type { Runtime } from '../../../../src/policy/runtime/runtime.ts';
import { runCase } from '../../../support/run-case.ts';
import { bundleOf, policyText, runtimeFor, tools } from './cases-support.ts';

const CASES = {
  'one of two': `{ given: {}, expect: { model: [cheap, middle] } }`,
  'none of two': `{ given: {}, expect: { model: [cheap, dear] } }`,
  'another endpoint': `{ given: { model: dear }, expect: { provider: second } }`,
  'no endpoint there': `{ given: { model: cheap }, expect: { provider: second } }`,
  everything: `{ given: { task_type: coding }, expect: { model: dear, provider: first, task: general, reason: x, cost_below_credits: 0.001, latency_below_ms: 1, quality_above: 0.99, rejected: { dear: quick, cheap: legal-is-cheap } } }`,
  'turned away': `{ given: { model: dear, key: { models: [cheap] } }, expect: { refused: insufficient_permissions, task: coding, rejected: { dear: key_models } } }`,
  'refused otherwise': `{ given: { estimated_input_tokens: 5000000 }, expect: { refused: no_eligible_model } }`,
  'rule that applies': `{ given: { key: { labels: { department: legal } } }, expect: { rejected: { cheap: legal-is-cheap } } }`,
};

let runtime: Runtime;

beforeAll(async () => {
  const cases = Object.entries(CASES).map(([name, text]) => `  - ${text.replace('{', `{ name: ${name},`)}`);
  runtime = await runtimeFor(policyText(`cases:\n${cases.join('\n')}\n`));
});

const failuresOf = (name: keyof typeof CASES) =>
  runCase(runtime.snapshot.cases.find((one) => one.name === name)!, runtime).failures;
const briefly = (name: keyof typeof CASES) => failuresOf(name).map(({ key, wanted, got }) => [key, wanted, got]);

describe('what fails', () => {
  test('a failed case reports every key that does not hold, with the expected and the actual value', () => {
    expect(briefly('everything')).toEqual([
      ['task', 'general', 'coding'],
      ['model', 'dear', 'middle'],
      ['provider', 'first', 'second'],
      ['reason', 'x', 'auto:usual'],
      ['cost_below_credits', 'below 0.001 Credits', '6.8 Credits'],
      ['latency_below_ms', 'below 1 ms', '12100 ms'],
      ['quality_above', 'above 0.99', '0.88'],
      ['rejected.dear', 'quick', 'eligible'],
      ['rejected.cheap', 'legal-is-cheap', 'eligible'],
    ]);
  });

  test('a case with several allowed models holds if one of them is chosen, and fails otherwise', () => {
    expect(briefly('one of two')).toEqual([]);
    expect(briefly('none of two')).toEqual([['model', 'cheap or dear', 'middle']]);
    expect(failuresOf('none of two')[0]!.hint).toBe(
      'dear is number 2 of 3 by auto:usual. middle costs least (a second counted as 0.1 Credits) within 0.03 of the best quality (0.88 of 0.9), and no model at least 0.01 better costs at most 3 times as much; the request is not hard. middle: expected quality 88 %, 2.1 Credits, 4.1 s',
    );
  });

  test('a failed case reports the endpoint that would be tried first', () => {
    expect(briefly('another endpoint')).toEqual([['provider', 'second', 'first']]);
    expect(failuresOf('no endpoint there')[0]!.hint).toBe('`cheap` has no endpoint of `second`');
  });

  test('a case reports all its expectations as failed if its request is refused early', () => {
    expect(briefly('turned away')).toEqual([
      ['task', 'coding', 'refused: insufficient_permissions'],
      ['rejected.dear', 'key_models', 'refused: insufficient_permissions'],
    ]);
  });

  test('a failed case reports the reason: the message of another refusal, or a rule with its location', () => {
    expect(briefly('refused otherwise')).toEqual([['refused', 'no_eligible_model', 'context_length_exceeded']]);
    expect(failuresOf('refused otherwise')[0]!.hint).toContain('5000000 tokens');
    expect(failuresOf('rule that applies')[0]!.hint).toMatch(
      /^`legal-is-cheap` \(policy.yaml:\d+\) applies, and `cheap` satisfies it$/,
    );
  });
});

test('a case of a model with `spread` accepts each provider that may get the first attempt', async () => {
  const text = (provider: string) => `version: 1
providers: { first: { adapter: simulated }, second: { adapter: simulated }, last: { adapter: simulated } }
models:
  fleet:
    spread: weighted
    endpoints:
      - { provider: first, upstream: up, weight: 70 }
      - { provider: second, upstream: up, weight: 30 }
      - { provider: last, upstream: up, priority: 1 }
    price: { input: 1, output: 4 }
    context_window: 8192
    max_output: 1024
    quality: { default: 0.5 }
cases:
  - { name: it, given: { model: fleet }, expect: { provider: ${provider} } }
`;
  for (const [provider, got] of [
    ['first', []],
    ['second', []],
    ['last', ['first or second']],
  ] as const) {
    const run = await runtimeFor(text(provider));
    expect(runCase(run.snapshot.cases[0]!, run).failures.map((failure) => failure.got)).toEqual([...got]);
  }
});

test('if a case expects a choice but is refused, the result has one diagnostic with every key of the expectation', async () => {
  const text = policyText(`cases:
  - { name: it, given: { constraints: { max_latency_ms: 1 } }, expect: { model: dear, provider: first, quality_above: 0.1 } }
`);
  const run = await runtimeFor(text);
  expect(runCase(run.snapshot.cases[0]!, run).failures.map(({ key }) => key)).toEqual([
    'model',
    'provider',
    'quality_above',
  ]);
  const judged = await buildCandidate(bundleOf(text), tools);
  const errors = isRejected(judged) ? judged.problems.filter(({ severity }) => severity === 'error') : [];
  expect(errors.map(({ code, message }) => [code, message])).toEqual([
    ['case-failed', 'case `it` failed: refused with `no_eligible_model`'],
  ]);
});
