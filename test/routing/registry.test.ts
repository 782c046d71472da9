import { describe, expect, test } from 'bun:test';
import { shipped } from '../../plugins/index.ts';
import type { Plugin } from '../../src/contract/kinds.ts';
import { defineStrategy, Type } from '../../src/contract/plugin.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { loadWith } from './build.ts';

const own = defineStrategy({
  name: 'own',
  status: 'alpha',
  options: Type.Object({}),
  prepare: () => ({ reason: 'own', score: () => {} }),
});

describe('the registry of plugins', () => {
  test('has the shipped plugins by kind and name', () => {
    const registry = createRegistry([...shipped, own]);
    const namesOf = (kind: Plugin['kind']) => shipped.filter((one) => one.kind === kind).map(({ name }) => name);
    expect([...registry.strategies.keys()]).toEqual([...namesOf('strategy'), 'own']);
    expect([...registry.providers.keys()]).toEqual(namesOf('provider'));
  });

  test('refuses two plugins with the same name', () => {
    expect(() => createRegistry([...shipped, own, own])).toThrow('two strategy plugins have the name `own`');
  });

  test('refuses to start without a strategy that requests need', () => {
    for (const name of ['auto', 'auto-fast', 'auto-cheap', 'weighted']) {
      const rest = shipped.filter((plugin) => plugin.name !== name);
      expect(() => createRegistry(rest)).toThrow(`the strategy plugin \`${name}\` is missing`);
    }
  });

  test('refuses values that are not plugins, and says what they lack', () => {
    // Values that bypass the type checker.
    const foreign = (plugin: object) => () => createRegistry([...shipped, plugin as Plugin]);
    expect(foreign({ ...own, kind: 'other' })).toThrow('made by defineStrategy, defineProvider or defineGuard');
    expect(foreign({ ...own, name: 'No Good' })).toThrow('lower-case letters');
    expect(foreign({ ...own, name: 7 })).toThrow('lower-case letters');
    expect(foreign({ ...own, options: null })).toThrow('no schema for its options');
    expect(foreign({ ...own, options: { type: 'object' } })).toThrow('must be a TypeBox schema');
    expect(foreign({ ...own, prepare: 1 })).toThrow('no prepare function');
    expect(foreign({ kind: 'provider', contract: 2, name: 'p', prepare: () => {} })).toThrow(
      'no schema for its settings',
    );
  });
});

describe('a policy that names a plugin', () => {
  const policy = (more: string, adapter = 'simulated') => `version: 1
providers:
  sim: { adapter: ${adapter} }
models:
  tiny: { provider: sim, price: { input: 1, output: 1 }, context_window: 8192, max_output: 2048, quality: { default: 0.5 } }
${more}`;
  const codes = (text: string) => loadWith(text).diagnostics.map(({ code, message }) => `${code}: ${message}`);

  test('is refused with the name of the plugin if the plugin is unknown', () => {
    expect(codes(policy('selectors: { mine: { strategy: autoo } }'))).toEqual([
      'unknown-reference: there is no strategy `autoo`',
    ]);
    expect(codes(policy('', 'simulate'))).toEqual([expect.stringContaining('`simulate`')]);
  });

  test('is refused for unknown or invalid options', () => {
    expect(codes(policy('selectors: { mine: { strategy: auto, options: { speed: 1 } } }'))[0]).toContain('speed');
    const wide = 'selectors: { mine: { strategy: auto, options: { margin: 0.1, strong_margin: 0.2 } } }';
    expect(codes(policy(wide))[0]).toContain(
      '`strong_margin` is 0.2, above `margin`, 0.1; state a `strong_margin` of at most 0.1',
    );
    expect(codes(policy('selectors: { mine: { strategy: auto-fast, options: { margin: 2 } } }'))).toHaveLength(1);
  });
});
