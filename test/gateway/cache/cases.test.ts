import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHere } from '../../support/run-here.ts';
import { temporaryFolder } from '../../support/signalbox.ts';

const policyOf = (cache: string, cases: string) => `version: 1
providers: { sim: { adapter: simulated } }
models:
  tiny: { provider: sim, price: { input: 1, output: 1 }, context_window: 8192, max_output: 2048, quality: { default: 0.5 } }
guards:
  - { name: no-secrets, guard: secrets, on_match: block }
${cache}
cases:
${cases}
`;
const CACHE = `cache: { when: 'key.labels.role != "robot"' }`;
const FIXED = 'body: { messages: [{ role: user, content: Hi. }], temperature: 0 }';
const SAMPLED = 'body: { messages: [{ role: user, content: Hi. }] }';
const SEARCH = `body: { messages: [{ role: user, content: Hi. }], max_tokens: 9, temperature: 0, tools: [{ type: web_search_20250305, name: web_search }] }`;
const SECRET = 'body: { messages: [{ role: user, content: My password = Tr0ub4dor. }], temperature: 0 }';

const testOf = async (cache: string, given: string, cached: boolean) => {
  const folder = temporaryFolder();
  writeFileSync(
    join(folder, 'policy.yaml'),
    policyOf(cache, `  - { name: it, given: { ${given} }, expect: { cached: ${cached} } }`),
  );
  return (await runHere(['policy', 'test', folder])).code;
};

describe('a policy case with `cached`', () => {
  test.each([
    ['with a fixed temperature', CACHE, FIXED, true],
    ['that is sampled', CACHE, SAMPLED, false],
    ['that is sampled, if the policy allows it', 'cache: { sampled: true }', SAMPLED, true],
    ['that the condition leaves out', CACHE, `key: { labels: { role: robot } }, ${FIXED}`, false],
    ['with a tool of the provider', CACHE, SEARCH, false],
    ['that a guard refuses', CACHE, SECRET, false],
    ['of a key without a team', 'cache: { partition: team }', FIXED, false],
    ['of a policy without a cache', '', FIXED, false],
  ])('knows whether the cache applies to a request %s', async (_, cache, given, expected) => {
    expect([await testOf(cache, given, expected), await testOf(cache, given, !expected)]).toEqual([0, 2]);
  });
});

test('`policy explain` says that the cache applies', async () => {
  const folder = temporaryFolder();
  writeFileSync(
    join(folder, 'policy.yaml'),
    policyOf(CACHE, `  - { name: it, given: { ${FIXED} }, expect: { cached: true } }`),
  );
  const { code, out } = await runHere(['policy', 'explain', folder, '--case', 'it', '--json']);
  expect(code).toBe(0);
  expect(out).toContain('The cache applies');
});
