import type { ProviderPlugin } from '../contract/provider.ts';
import { addressClass, literalAddress } from '../core/address-class.ts';
import type { Provider } from '../core/snapshot.ts';
import { checkOptions } from './check.ts';
import type { Place } from './diagnostics.ts';
import { readable } from './readable.ts';
import type { Report } from './report.ts';
import { ProviderText } from './schema.ts';
import { emptyMap, type Named, unknownName } from './scope.ts';
import { placeAt, valueAt } from './tree.ts';

/** A provider of the policy in this environment. */
export interface ProviderState {
  readonly name: string;
  /** Null where the policy is wrong about it. */
  readonly provider: Provider | null;
  /** Why it cannot serve here; null when it can. */
  readonly missing: string | null;
  /** Serves only while no other can. */
  readonly whenAlone: boolean;
}

/** The environment a policy meets. Only asked for variables that the policy names. */
export interface Environment {
  get(name: string): string | undefined;
}

/** What providers are compiled against. */
interface Scope {
  readonly report: Report;
  readonly env: Environment;
  readonly providers: ReadonlyMap<string, ProviderPlugin>;
}

/** Compiles a provider, and asks the environment whether it can serve. */
export function compileProvider(named: Named<ProviderText>, scope: Scope): ProviderState {
  const { data, name, tree } = named;
  const parts = data ?? readable(ProviderText, tree);
  const whenAlone = parts.serve === 'when_alone';
  if (parts.passthrough?.includes('*')) {
    const message = `\`${named.path}\` passes on every field that a caller sends`;
    scope.report.add('passthrough-all', placeAt(tree, 'passthrough'), message, {
      hint: 'a field that changes the bill is then not part of the reservation',
    });
  }
  const settings = checkAdapter(named, parts, scope);
  const address = resolveAddress(named, parts, scope);
  if (!data) return { name, provider: null, missing: null, whenAlone };
  const keyMissing = data.api_key_env !== undefined && !isSet(data.api_key_env, scope);
  const missing = keyMissing ? `${data.api_key_env} is not set` : address.missing;
  const provider: Provider | null = settings && {
    name,
    adapter: data.adapter,
    settings,
    baseUrl: address.url,
    allowPrivateNetwork: data.allow_private_network,
    apiKeyEnv: data.api_key_env ?? null,
    passthrough: new Set(data.passthrough),
    cache: { ttlMs: data.cache_ttl_s * 1000, tokensMin: data.cache_min_tokens },
  };
  return { name, provider, missing, whenAlone };
}

/** Finds the adapter and checks the settings meant for it. */
function checkAdapter(
  { path, tree, place }: Named<ProviderText>,
  data: Partial<ProviderText>,
  scope: Scope,
): Readonly<Record<string, unknown>> | null {
  if (data.adapter === undefined) return null;
  const plugin = scope.providers.get(data.adapter);
  if (!plugin) {
    unknownName('adapter', data.adapter, scope.providers.keys(), placeAt(tree, 'adapter'), scope.report);
    return null;
  }
  const subject = { path: `${path}.settings`, tree: valueAt(tree, 'settings') ?? emptyMap(place), place };
  const settings = checkOptions(plugin.settings, subject, scope.report);
  if (!settings) return null;
  const kind = prepare(plugin, settings);
  if (kind instanceof Error) {
    const message = `adapter \`${data.adapter}\` refuses its settings: ${kind.message}`;
    scope.report.add('plugin-failed', subject.tree.place, message);
    return null;
  }
  if (kind === 'wire' && !valueAt(tree, 'base_url') && !valueAt(tree, 'base_url_env')) {
    scope.report.add('missing-key', place, `\`${path}\` needs the key \`base_url\` or \`base_url_env\``, {
      hint: `adapter \`${data.adapter}\` speaks over the network and has to be told where`,
    });
  }
  return settings;
}

function prepare(plugin: ProviderPlugin, settings: Readonly<Record<string, unknown>>): 'wire' | 'in-process' | Error {
  try {
    return plugin.prepare(settings).kind;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

interface Address {
  readonly url: string | null;
  readonly missing: string | null;
}

function resolveAddress({ path, tree }: Named<ProviderText>, data: Partial<ProviderText>, scope: Scope): Address {
  const { base_url: literal, base_url_env: variable } = data;
  if (literal !== undefined && variable !== undefined) {
    const message = `\`${path}\` has both \`base_url\` and \`base_url_env\``;
    scope.report.add('conflicting-keys', placeAt(tree, 'base_url_env'), message, { expected: 'one of them' });
  }
  if (literal !== undefined) {
    const url = normalUrl(literal);
    if (url === null) {
      const message = `\`${path}.base_url\` is not an address`;
      scope.report.add('bad-form', placeAt(tree, 'base_url'), message, ADDRESS);
    } else refuseForbidden(url, `\`${path}.base_url\``, placeAt(tree, 'base_url'), scope);
    return { url, missing: null };
  }
  if (variable === undefined) return { url: null, missing: null };
  const value = scope.env.get(variable)?.trim();
  if (!value) return { url: null, missing: `${variable} is not set` };
  const url = normalUrl(value);
  if (url === null) {
    // The value stays out of the message: what is in a variable may be a secret put in the wrong one.
    const message = `the variable ${variable} does not hold an address`;
    scope.report.add('bad-environment', placeAt(tree, 'base_url_env'), message, ADDRESS);
  } else refuseForbidden(url, `the variable ${variable}`, placeAt(tree, 'base_url_env'), scope);
  return { url, missing: null };
}

const ADDRESS = { expected: 'http:// or https://, host and path, without user, query and fragment' };

function normalUrl(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  return url.href.replace(/\/+$/, '');
}

/** Only what the address says itself: where a name leads is looked at when it is connected to. */
function refuseForbidden(url: string, what: string, place: Place, { report }: Scope): void {
  const address = literalAddress(new URL(url).hostname);
  if (!address || addressClass(address) !== 'forbidden') return;
  const isUnspecified = address.at(-1) === 0 && address.at(-2) === 0;
  report.add('forbidden-address', place, `${what} holds an address that no request may go to`, {
    hint: isUnspecified
      ? 'servers listen there; to reach one on this machine, write 127.0.0.1'
      : 'metadata of clouds, link-local and multicast addresses serve no model',
  });
}

function isSet(variable: string, scope: Scope): boolean {
  return (scope.env.get(variable) ?? '').trim() !== '';
}
