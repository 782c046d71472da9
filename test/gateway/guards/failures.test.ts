import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expectError } from '../../support/error-contract.ts';
import { testPolicy, UPSTREAM_ENV, withCompletions } from '../../support/policies.ts';
import { startSignalbox, temporaryFolder } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { contentOf, send, WAYS } from './support.ts';

const upstream = useUpstream();

/** The ways in which a guard can fail, as bodies of its function `check`. */
const FAILURES = {
  throws: 'throw new Error("broken")',
  rejects: 'return Promise.reject(new Error("broken"))',
  hangs: 'return new Promise(() => {})',
  'takes longer than its deadline': 'const end = performance.now() + 150; while (performance.now() < end); return []',
  'returns nothing': 'return undefined',
  'returns a match without a kind': 'return [{ at: { text: 0, from: 0, to: 1 } }]',
  'returns a match of an unknown kind': 'return [{ kind: "other" }]',
  'returns a match outside of its text': 'return [{ kind: "it", at: { text: 0, from: 0, to: 1e9 } }]',
  'returns a match in a text that does not exist': 'return [{ kind: "it", at: { text: 99, from: 0, to: 1 } }]',
} as const;

/** Starts a server with a guard of the operator. */
async function startWithGuard(check: string, { pure, on, more }: { pure: boolean; on: string; more: string }) {
  const folder = temporaryFolder();
  const plugin = `import { defineGuard, Type } from 'signalbox/plugin';
export const bad = defineGuard({
  name: 'bad', status: 'alpha', settings: Type.Object({}), pure: ${pure}, window: 'message', sides: ['input', 'output'],
  prepare: () => ({ kinds: ['it'], check() { ${check} } }),
});`;
  writeFileSync(join(folder, 'bad.ts'), plugin);
  const models = { best: { endpoints: ['fake'], price: { input: 4, output: 16 } } };
  const guards = `plugins: [../${basename(folder)}/bad.ts]\nguards:\n  - { name: bad, guard: bad, on: [${on}], on_match: block, deadline_ms: 100${more} }\n`;
  return await startSignalbox({
    policy: withCompletions(testPolicy({ fake: upstream.url }, models, guards)),
    env: UPSTREAM_ENV,
  });
}

describe.each(Object.entries(FAILURES))('a guard that %s', (name, check) => {
  const pure = !/rejects|hangs/.test(name);

  test('refuses a request before a provider is called, and holds no money', async () => {
    const box = await startWithGuard(check, { pure, on: 'input', more: '' });
    try {
      const calls = upstream.requests.length;
      const body = { model: 'best', messages: [{ role: 'user', content: 'Hi.' }] };
      const begun = performance.now();
      await expectError(await box.post('/v1/chat/completions', body), 'guard_failed');
      expect(performance.now() - begun).toBeLessThan(5_000);
      expect(upstream.requests.length).toBe(calls);
      expect(await box.run('ledger', 'audit')).toMatchObject({ code: 0 });
    } finally {
      await box.stop();
    }
  });

  test('with `on_failure: flag`, changes nothing', async () => {
    const box = await startWithGuard(check, { pure, on: 'input', more: ', on_failure: flag' });
    try {
      const [, way] = WAYS[0]!;
      expect((await contentOf(way, await send(way, box, 'Hi.'))).text.length).toBeGreaterThan(0);
    } finally {
      await box.stop();
    }
  });

  test('ends an answer, and shows nothing of it', async () => {
    const box = await startWithGuard(check, { pure, on: 'output', more: '' });
    try {
      for (const [, way] of WAYS) {
        upstream.next({ text: ['Quartz ', 'and more.'] });
        const text = await (await send(way, box, 'Say it.')).text();
        expect([/guard_failed/i.test(text), text.includes('Quartz')]).toEqual([true, false]);
      }
      expect(await box.run('ledger', 'audit')).toMatchObject({ code: 0 });
    } finally {
      await box.stop();
    }
  });
});
