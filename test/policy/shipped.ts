import { shipped } from '../../plugins/index.ts';
import type { ProviderPlugin, ProviderPreset } from '../../src/contract/provider.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import {
  compilePolicy,
  type LoadContext,
  type LoadResult,
  loadPolicy,
  type PolicyFile,
  parsePolicy,
} from '../../src/policy/load.ts';
import { shippedPolicy, snapshotOf } from './support.ts';

type Variables = Readonly<Record<string, string>>;

/** Makes a load context with the shipped plugins and an environment. */
export function shippedContext(env: Variables): LoadContext {
  return { env: { get: (name) => env[name] }, ...createRegistry(shipped), revisionOf: (content) => content };
}

/** Loads files with the shipped plugins. */
export function loadShipped(files: readonly PolicyFile[], env: Variables = {}): LoadResult {
  return loadPolicy(files, shippedContext(env));
}

const parsedOnce = parsePolicy(shippedPolicy());

/** Loads the shipped policy. The policy is parsed only once, because parsing takes most of the time. */
export function loadShippedPolicy(env: Variables = {}): LoadResult {
  return compilePolicy(parsedOnce, shippedContext(env));
}

/** Returns the snapshot of the shipped policy in an environment. */
export function shippedSnapshot(env: Variables = {}): PolicySnapshot {
  return snapshotOf(loadShippedPolicy(env));
}

export interface ShippedService {
  readonly plugin: ProviderPlugin;
  readonly name: string;
  readonly preset: ProviderPreset;
  /** The service's environment variables, with usable values. */
  readonly variables: Variables;
}

/** Every preset of the shipped adapters. */
export const SERVICES: readonly ShippedService[] = shipped
  .filter((plugin): plugin is ProviderPlugin => plugin.kind === 'provider')
  .flatMap((plugin) =>
    Object.entries(plugin.presets ?? {}).map(([name, preset], at) => ({
      plugin,
      name,
      preset,
      variables: {
        ...(preset.baseUrlEnv && { [preset.baseUrlEnv]: `http://127.0.0.1:${at + 1}/v1` }),
        ...(preset.apiKeyEnv && { [preset.apiKeyEnv]: 'key-of-the-test' }),
      },
    })),
  );

/** An environment in which every provider can serve. No request is sent. */
export const EVERY_VARIABLE: Variables = Object.assign({}, ...SERVICES.map(({ variables }) => variables));
