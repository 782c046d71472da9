import { describe, expect, test } from 'bun:test';
import { shipped } from '../../../../plugins/index.ts';
import { rehearse } from '../../../../src/admin/use-cases/policy/rehearse.ts';
import { createPluginLoader } from '../../../../src/host/plugins/load.ts';
import { buildCandidate, isRejected, type PolicyTools } from '../../../../src/policy/runtime/candidate.ts';
import { parseFiles } from '../../../../src/policy/runtime/parse-files.ts';
import { testPolicy } from '../../../support/policies.ts';

const tools: PolicyTools = {
  folder: '.',
  shipped,
  loader: createPluginLoader(),
  env: { get: (name) => (name === 'TEST_UPSTREAM_KEY' ? 'key-of-the-test' : undefined) },
  now: () => 0,
  parse: parseFiles,
  rehearse,
};

const policy = (cases: string, more = '') =>
  testPolicy(
    { first: 'http://127.0.0.1:9/v1' },
    {
      dear: { endpoints: ['first'], price: { input: 10, output: 40 }, quality: 0.9 },
      cheap: { endpoints: ['first'], price: { input: 0.1, output: 0.4 }, quality: 0.6 },
    },
    `${more}constraints:
  - { name: legal-is-cheap, when: 'key.labels.department == "legal"', require: model.price.output < 1.0 }
  - { name: nights-are-cheap, when: 'time.hour < 6.0', require: model.price.output < 1.0 }
cases:
${cases}`,
  );

/** Returns the messages for a case; empty if it holds. */
async function outcomeOf(text: string): Promise<string[]> {
  const judged = await buildCandidate({ files: [{ path: 'policy.yaml', text }], hash: 'h' }, tools);
  if (!isRejected(judged)) return [];
  expect(judged.message).toBeNull();
  return judged.problems
    .filter(({ severity }) => severity === 'error')
    .map(({ code, message, expected }) => `${code}: ${message}; ${expected}`);
}

const legal = '{ key: { labels: { department: legal } } }';

describe('a policy is accepted if its case holds:', () => {
  const HOLDS = [
    `given: {}, expect: { model: dear }`,
    `given: { model: auto-cheap, estimated_input_tokens: 100 }, expect: { reason: "auto-cheap:usual" }`,
    `given: ${legal}, expect: { model: cheap, rejected: { dear: legal-is-cheap } }`,
    `given: { model: dear, key: { labels: { department: legal } } }, expect: { refused: no_eligible_model }`,
    `given: { time: "2026-11-20T03:00:00Z" }, expect: { model: cheap, rejected: { dear: nights-are-cheap } }`,
    `given: { task_type: writing }, expect: { task: writing }`,
    `given: { messages: [{ role: user, content: "Solve 2x + 3 = 9, and show each step." }] }, expect: { task: math, model: dear }`,
    `given: { key: { models: [cheap] } }, expect: { rejected: { dear: key_models } }`,
    `given: ${legal}, expect: { cost_below_credits: 1, latency_below_ms: 60000, quality_above: 0.5 }`,
  ];
  for (const text of HOLDS) {
    test(text, async () => expect(await outcomeOf(policy(`  - { name: it, ${text} }`))).toEqual([]));
  }
});

describe('a policy is refused if its case fails, with the actual value:', () => {
  const FAILS: readonly (readonly [string, RegExp])[] = [
    [`given: {}, expect: { model: cheap }`, /chose `dear`; `cheap`/],
    [`given: {}, expect: { reason: "auto:quick" }`, /the reason is `auto:usual`; `auto:quick`/],
    [`given: {}, expect: { rejected: { dear: legal-is-cheap } }`, /`dear` is eligible/],
    [`given: ${legal}, expect: { rejected: { dear: nights-are-cheap } }`, /`dear` is rejected by legal-is-cheap/],
    [`given: {}, expect: { refused: no_eligible_model }`, /chose `dear`; `no_eligible_model`/],
    [`given: {}, expect: { cost_below_credits: 0.01 }`, /the expected cost of `dear` is .* Credits; below 0.01/],
    [
      `given: { task_type: writing }, expect: { task: coding, model: dear }`,
      /the task is recognized as `writing`; `coding`/,
    ],
    [`given: {}, expect: { quality_above: 0.95 }`, /the expected quality of `dear` is 0.9; above 0.95/],
    [
      `given: { model: dear, key: { labels: { department: legal } } }, expect: { model: dear }`,
      /refused with `no_eligible_model`/,
    ],
  ];
  for (const [text, expected] of FAILS) {
    test(text, async () => {
      const found = await outcomeOf(policy(`  - { name: it, ${text} }`));
      expect(found).toHaveLength(1);
      expect(found[0]).toMatch(/^case-failed: case `it` failed/);
      expect(found[0]).toMatch(expected);
    });
  }
});

test('a case about a model that cannot be served here is not run', async () => {
  const more = `# Nobody has the key of this one.\n`;
  const text = policy(`  - { name: it, given: {}, expect: { model: absent } }`, more)
    .replace(
      'providers:\n',
      'providers:\n  far: { adapter: openai-compatible, base_url: "http://127.0.0.1:9/v1", api_key_env: NOT_SET_KEY }\n',
    )
    .replace(
      'models:\n',
      'models:\n  absent: { provider: far, price: { input: 1, output: 1, as_of: 2026-11-01, basis: own }, context_window: 1000, max_output: 500, quality: { default: 1, basis: guessed } }\n',
    );
  expect(await outcomeOf(text)).toEqual([]);
});
