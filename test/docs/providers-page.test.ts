import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LACKED_CAPABILITIES } from '../../src/core/request/capability.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { shippedContext } from '../policy/shipped.ts';
import { snapshotOf } from '../policy/support.ts';
import { neededBy, PROBES } from './provider-fields.ts';

const TEXT = readFileSync(join(import.meta.dir, '../../docs/extend/providers.md'), 'utf8');
const blocks = [...TEXT.matchAll(/^```yaml policy\n([\s\S]*?)^```$/gm)].map(([, text = ''], at) => ({
  path: `example-${at}.yaml`,
  text,
}));

describe('the examples of docs/extend/providers.md', () => {
  const files = [{ path: 'p.yaml', text: 'version: 1\n' }, ...blocks];
  const context = { ...shippedContext({}), env: { get: () => 'http://127.0.0.1:1/v1' } };

  test('are valid together, and every provider in them serves a model', () => {
    const { snapshot, diagnostics } = loadPolicy(files, context);
    expect(diagnostics).toEqual([]);
    const providers = blocks.flatMap(({ text }) => [...text.matchAll(/^ {2}([\w-]+):.*\b(?:preset|adapter):/gm)]);
    expect(providers.length).toBeGreaterThan(6);
    const used = snapshot?.models.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider));
    expect([...new Set(used)].sort()).toEqual([...(snapshot?.providers.keys() ?? [])].sort());
  });

  test('name the variables that the providers need', () => {
    const asked = new Set<string>();
    const get = (name: string) => {
      asked.add(name);
      return 'http://127.0.0.1:1/v1';
    };
    snapshotOf(loadPolicy(files, { ...context, env: { get } }));
    expect([...asked].filter((name) => !blocks.some(({ text }) => text.includes(name)))).toEqual([]);
  });
});

describe('docs/extend/fields.md', () => {
  test('the page shows for every capability which fields need it', () => {
    const asked = new Set(PROBES.flatMap(neededBy));
    expect(LACKED_CAPABILITIES.filter((name) => !asked.has(name))).toEqual(['reasoning', 'token_input', 'stop']);
  });
});
