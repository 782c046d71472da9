import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHere } from '../../support/run-here.ts';
import { temporaryFolder } from '../../support/signalbox.ts';

const policyOf = (cases: string) => `version: 1
providers: { sim: { adapter: simulated } }
models:
  tiny: { provider: sim, price: { input: 1, output: 1 }, context_window: 8192, max_output: 2048, quality: { default: 0.5 } }
  private: { provider: sim, price: { input: 9, output: 9 }, context_window: 8192, max_output: 2048, quality: { default: 0.5 }, tags: [private] }
guards:
  - { name: no-secrets, guard: secrets, on_match: block, when: key.labels.role != "robot" }
  - { name: pii, guard: personal-data, settings: { kinds: [email] }, on_match: mask }
  - { name: forms, guard: json-schema, settings: { schema: { type: object } }, on: [output], on_match: block }
constraints:
  - { name: personal, when: guards.pii > 1, require: '"private" in model.tags' }
cases:
${cases}
`;
const SECRET = 'messages: [{ role: user, content: My password = Tr0ub4dor. }]';
const MAIL = 'messages: [{ role: user, content: Write to ada@example.com. }]';
const PLAIN = 'messages: [{ role: user, content: Hi. }]';
const MAILS = 'messages: [{ role: user, content: Write to ada@example.com and bob@example.com. }]';

const run = async (cases: string, ...args: string[]) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'policy.yaml'), policyOf(cases));
  return await runHere(['policy', ...(args.length > 0 ? args : ['test']), folder]);
};

describe('a policy case', () => {
  test.each([
    ['that a guard refuses', `{ ${SECRET} }`, '{ blocked: no-secrets }'],
    ['that a guard masks', `{ ${MAIL} }`, '{ masked: [pii], model: tiny }'],
    ['whose matches a constraint reads', `{ ${MAILS} }`, '{ masked: [pii], model: private }'],
    ['with a refusal by its code', `{ ${SECRET} }`, '{ refused: content_blocked }'],
    ['that a guard repairs', `{ ${PLAIN}, answer: '{"city": "Oslo",}' }`, '{ repaired: [forms], model: tiny }'],
    ['whose answer a guard blocks', `{ ${PLAIN}, answer: Oslo. }`, '{ blocked: forms }'],
    ['whose key no guard inspects', `{ key: { labels: { role: robot } }, ${SECRET} }`, '{ model: tiny }'],
  ])('%s passes', async (_, given, expected) => {
    const { code, out: stdout } = await run(`  - { name: it, given: ${given}, expect: ${expected} }`);
    expect([code, stdout]).toEqual([0, expect.any(String)]);
  });

  test.each([
    ['is not refused', `{ ${MAIL} }`, '{ blocked: no-secrets }'],
    ['is refused by another guard', `{ ${SECRET} }`, '{ blocked: pii }'],
    ['is not masked', '{ messages: [{ role: user, content: Hi. }] }', '{ masked: [pii] }'],
    ['has no answer that a guard could repair', `{ ${PLAIN} }`, '{ repaired: [forms] }'],
    ['has an answer that needs no repair', `{ ${PLAIN}, answer: '{}' }`, '{ repaired: [forms] }'],
    ['has an answer that no guard blocks', `{ ${PLAIN}, answer: '{}' }`, '{ blocked: forms }'],
    ['names a guard that does not exist', `{ ${SECRET} }`, '{ blocked: no-such-guard }'],
    ['expects a model of a blocked request', `{ ${SECRET} }`, '{ blocked: no-secrets, model: tiny }'],
  ])('that %s fails', async (_, given, expected) => {
    const { code } = await run(`  - { name: it, given: ${given}, expect: ${expected} }`);
    expect(code).toBe(2);
  });
});

test('an explanation has the verdicts of guards, and the facts of the request after masks', async () => {
  const { out: stdout } = await run('', 'explain', '--message', 'Write to ada@example.com.', '--json');
  const { explanation, facts } = JSON.parse(stdout);
  expect(facts.guards).toEqual({ pii: 1 });
  expect(explanation[0]).toContain('pii');
  expect(stdout).not.toContain('ada@');
});
