import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../../plugins/index.ts';
import { PLUGIN_KINDS, type Plugin } from '../../../src/contract/kinds.ts';
import { assertContract } from '../../../src/host/plugins/registry.ts';

const provider = shipped.find(({ kind }) => kind === 'provider')!;

/** A plugin as exported by code for another version of the contract. */
const withVersion = (plugin: Plugin, contract: unknown) => ({ ...plugin, contract }) as Plugin;

describe('the version of the plugin contract', () => {
  test('a provider plugin of the first contract is refused, with its name, the version and the page that explains the changes', () => {
    const { contract: _, ...unversioned } = provider as Plugin & { contract?: number };
    for (const old of [unversioned as Plugin, withVersion(provider, 1)]) {
      expect(() => assertContract(old)).toThrow(
        `the provider plugin \`${provider.name}\` is made for version 1 of the plugin contract, but this gateway accepts 2: see /docs/guide/extend/plugins.md#contract-2 of your server`,
      );
    }
    expect(readFileSync(join(import.meta.dir, '../../../docs/extend/plugins.md'), 'utf8')).toContain(
      '\n## Contract 2\n',
    );
  });

  test('a plugin of a later or unknown version of the contract is refused', () => {
    for (const plugin of shipped) {
      for (const version of [3, 0, '2', Number.NaN]) {
        expect(() => assertContract(withVersion(plugin, version))).toThrow('of the plugin contract');
      }
    }
  });

  test('plugins of kinds that did not change work with and without a version', () => {
    for (const plugin of shipped) {
      if (PLUGIN_KINDS[plugin.kind].contractMin > 1) continue;
      for (const version of [undefined, 1, 2]) expect(() => assertContract(withVersion(plugin, version))).not.toThrow();
    }
  });
});
