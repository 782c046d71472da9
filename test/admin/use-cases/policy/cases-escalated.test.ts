import { beforeAll, expect, test } from 'bun:test';
import { ESCALATION_NAMES } from '../../../../src/core/request/escalation.ts';
import type { Runtime } from '../../../../src/policy/runtime/runtime.ts';
import { runCase } from '../../../support/run-case.ts';
import { runtimeFor } from './cases-support.ts';

const ASKED = 'messages: [{ role: user, content: "hi, how are you?" }]';
const caseOf = (name: string, given: string, tier: string) =>
  `  - { name: ${name}, given: { ${given} }, expect: { tier: ${tier} } }\n`;
const model = (price: number, quality: number) =>
  `{ provider: sim, price: { input: ${price}, output: ${price} }, context_window: 90000, max_output: 9000, quality: { default: ${quality} } }`;
const policyWith = (on: readonly string[]) => `version: 1
providers: { sim: { adapter: simulated } }
models: { small: ${model(1, 0.7)}, strong: ${model(5, 0.9)} }
selectors:
  auto: { strategy: auto, tiers: { usual: [small], strong: [strong] } }
  each: { strategy: weighted }
escalate: { on: [${on.join(', ')}] }
cases:
${ESCALATION_NAMES.map((signal) => caseOf(signal, `${ASKED}, escalated: ${signal}`, 'strong')).join('')}
${caseOf('none', ASKED, 'usual')}
${caseOf('body', `escalated: low_score, body: { ${ASKED}, max_tokens: 9 }`, 'strong')}
${caseOf('each', `model: each, ${ASKED}, escalated: low_score`, 'strong')}
`;

let all: Runtime;
let one: Runtime;
beforeAll(async () => {
  all = await runtimeFor(policyWith(ESCALATION_NAMES));
  one = await runtimeFor(policyWith(['correction']));
});

const failuresOf = (runtime: Runtime, name: string) =>
  runCase(runtime.snapshot.cases.find((found) => found.name === name)!, runtime).failures;

test.each([...ESCALATION_NAMES, 'none', 'body'])(
  'a case can expect the tier of an escalated conversation: %s',
  (name) => {
    expect(failuresOf(all, name)).toEqual([]);
  },
);

test('a signal that the policy does not count escalates no case, and the failure says so', () => {
  expect(failuresOf(one, 'correction')).toEqual([]);
  expect(failuresOf(one, 'low_score')).toMatchObject([
    { key: 'tier', wanted: 'strong', got: 'usual', hint: '`escalate.on` does not list `low_score`' },
  ]);
});

test('a selector without tiers escalates no case', () => {
  expect(failuresOf(all, 'each')).toMatchObject([{ key: 'tier', got: 'none' }]);
});
