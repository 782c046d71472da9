import { shipped } from '../../plugins/index.ts';
import type { PreparedProvider, ProviderPlugin, WireAdapter } from '../../src/contract/provider.ts';
import { typicalAdapter } from '../../src/tools/conformance/provider-subject.ts';
import { DIALECTS, type DialectName } from './dialects/index.ts';

/** A shipped adapter that calls a service, with the dialect of the fake that tests use for the service. */
export interface ShippedAdapter {
  readonly plugin: ProviderPlugin;
  readonly name: string;
  readonly dialect: DialectName;
  /** The adapter with its default settings, or with the settings of its first preset. */
  readonly adapter: WireAdapter & PreparedProvider;
}

const isDialect = (name: string): name is DialectName => Object.hasOwn(DIALECTS, name);

function adapterOf(plugin: ProviderPlugin): ShippedAdapter[] {
  const adapter = typicalAdapter(plugin);
  if (!adapter) throw new Error(`${plugin.name} cannot be prepared`);
  if (adapter.kind !== 'wire') return [];
  const { dialect } = adapter;
  if (!isDialect(dialect)) throw new Error(`test/support/dialects/ has no strict server of the dialect ${dialect}`);
  return [{ plugin, name: plugin.name, dialect, adapter }];
}

export const WIRE_ADAPTERS: readonly ShippedAdapter[] = shipped.flatMap((plugin) =>
  plugin.kind === 'provider' ? adapterOf(plugin) : [],
);
