import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expectError } from '../../support/error-contract.ts';
import { type Signalbox, temporaryFolder } from '../../support/signalbox.ts';
import { useGateways, useUpstream } from '../../support/use.ts';
import { contentOf, guardedPolicy, send, WAYS } from './support.ts';

const upstream = useUpstream();
const gatewayWith = useGateways();

/** The ways in which a guard can fail, as bodies of its function `check`. */
const FAILURES = {
  throws: 'throw new Error("broken")',
  rejects: 'return Promise.reject(new Error("broken"))',
  hangs: 'return new Promise(() => {})',
  'takes longer than its deadline': 'const end = performance.now() + 30; while (performance.now() < end); return []',
  'returns nothing': 'return undefined',
  'returns a match without a kind': 'return [{ at: { text: 0, from: 0, to: 1 } }]',
  'returns a match of an unknown kind': 'return [{ kind: "other" }]',
  'returns a match outside of its text': 'return [{ kind: "it", at: { text: 0, from: 0, to: 1e9 } }]',
  'returns a match in a text that does not exist': 'return [{ kind: "it", at: { text: 99, from: 0, to: 1 } }]',
} as const;
const isPure = (name: string): boolean => !/rejects|hangs/.test(name);

/** A guard of the operator that fails as its text says. */
const pluginOf = (pure: boolean): string => `
export const ${pure ? 'pure' : 'impure'} = defineGuard({
  name: '${pure ? 'pure' : 'impure'}', status: 'alpha', settings: Type.Object({}), pure: ${pure}, window: 'message', sides: ['input', 'output'],
  prepare: () => ({ kinds: ['it'], check({ texts }) {
    const all = texts.map(({ text }) => text).join();
${Object.entries(FAILURES)
  .filter(([name]) => isPure(name) === pure)
  .map(([name, check]) => `    if (all.includes('${name}')) { ${check} }`)
  .join('\n')}
    return [];
  } }),
});`;
const folder = temporaryFolder();
writeFileSync(
  join(folder, 'bad.ts'),
  `import { defineGuard, Type } from 'signalbox/plugin';${pluginOf(true)}${pluginOf(false)}`,
);

const boxWith = (settings: string): Promise<Signalbox> => {
  const guards = ['pure', 'impure'].map(
    (name) => `  - { name: ${name}, guard: ${name}, on_match: block, deadline_ms: 20, ${settings} }`,
  );
  return gatewayWith(guardedPolicy(upstream.url, guards.join('\n'), `plugins: [../${basename(folder)}/bad.ts]\n`));
};

describe.each(Object.keys(FAILURES))('a guard that %s', (name) => {
  test('refuses a request before a provider is called, and holds no money', async () => {
    const box = await boxWith('on: [input]');
    const calls = upstream.requests.length;
    const body = { model: 'best', messages: [{ role: 'user', content: name }] };
    await expectError(await box.post('/v1/chat/completions', body), 'guard_failed');
    expect(upstream.requests.length).toBe(calls);
    expect(await (await box.get('/admin/ledger')).json()).toMatchObject({ open_reservations: 0 });
  });

  test('with `on_failure: flag`, changes nothing', async () => {
    const box = await boxWith('on: [input], on_failure: flag');
    const [, way] = WAYS[0]!;
    expect((await contentOf(way, await send(way, box, name))).text.length).toBeGreaterThan(0);
  });

  test('ends an answer, and shows nothing of it', async () => {
    const box = await boxWith('on: [output]');
    for (const [, way] of WAYS) {
      upstream.next({ text: ['Quartz ', name] });
      const text = await (await send(way, box, 'Say it.')).text();
      expect([/guard_failed/i.test(text), text.includes('Quartz')]).toEqual([true, false]);
    }
  });
});
