import type { ModelServerAdapter } from '../../contract/model-server.ts';
import {
  OPERATION_PARTS,
  type PreparedProvider,
  type ProviderPlugin,
  type ProviderPreset,
} from '../../contract/provider.ts';
import { byOperation, isOfTexts, type Operation } from '../../core/kinds/operations.ts';
import { UNKNOWN_BILLING } from '../../core/money/abort-billing.ts';
import type { Provider } from '../../core/policy/snapshot.ts';
import { mayReceive } from '../../core/policy/sourced-key.ts';
import { RUN_MIN } from '../../core/text/runs.ts';
import { messageOf } from '../../core/thrown.ts';
import { checkOptions, validPartsOf } from '../check/check.ts';
import { checkExcluded } from '../check/key-rules.ts';
import { isStated } from '../check/peer-keys.ts';
import { emptyMap, type NamedItem } from '../check/section-checks.ts';
import { type Environment, PLACEHOLDER } from '../define/environment.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import { listNames } from '../report/nearest.ts';
import type { Report } from '../report/report.ts';
import { readAbortBilling, reviewAbortBilling } from '../schema/abort.ts';
import { readPagesMax } from '../schema/pages.ts';
import { placeAt, valueAt } from '../yaml/tree.ts';
import {
  ADDRESS,
  normalUrl,
  OF_PROVIDER,
  refuseForbidden,
  reportNoAddress,
  reviewPath,
  reviewPrivateHost,
} from './addresses.ts';
import { DISCOVERED_PRESETS, discoverOf, isOwnServer } from './discover.ts';
import { hasKeyIn, KEYS_MAX, keysIn, namesOf, poolOf, variablesOf } from './key-pool.ts';
import { ProviderText } from './schema.ts';
import { findService, isServiceAddress, type ProviderService, usualPath } from './service.ts';

/** A provider of the policy, set up in this environment. */
export interface ProviderSetup {
  readonly name: string;
  /** The compiled provider; null if its entry in the policy is wrong. */
  readonly provider: Provider | null;
  /** Required environment variables that are not set. */
  readonly unset: readonly string[];
  /** Whether the provider is a known service with prices, not a server of the operator. */
  readonly isHosted?: boolean;
  /** Whether the provider serves only if no other provider can serve a model. */
  readonly whenAlone: boolean;
  readonly place: SourceSpan;
  /** Returns the capabilities that the adapter cannot express. */
  readonly lacks?: PreparedProvider['lacks'];
  /** Returns the dialects whose requests the adapter passes through unchanged. */
  readonly passes?: PreparedProvider['passes'];
  /** Whether the adapter has each operation; absent without an adapter. */
  readonly has?: Readonly<Record<Operation, boolean>>;
}

interface ProviderContext {
  readonly report: Report;
  readonly env: Environment;
  readonly providers: ReadonlyMap<string, ProviderPlugin>;
  /** Whether to report the warnings that only `policy check` shows. */
  readonly isReviewed: boolean;
}

/** Compiles a provider and finds the environment variables that are not set. */
export function compileProvider(named: NamedItem<ProviderText>, scope: ProviderContext): ProviderSetup {
  const { data, name, tree, place } = named;
  const parts = data ?? validPartsOf(ProviderText, tree);
  const whenAlone = parts.serve === 'when_alone';
  if (parts.passthrough?.includes('*')) {
    const message = `\`${named.path}\` passes every field of a request to the provider`;
    scope.report.add('passthrough-all', placeAt(tree, 'passthrough'), message, {
      hint: 'a field can raise the cost above the reserved amount: list the fields that you need',
    });
  }
  reviewAbortBilling(tree, named.path, parts.after_abort, scope.report);
  const service = findService(named, parts, scope.providers, scope.report);
  const preset = service?.preset ?? {};
  const adapter = service && prepareAdapter(named, service, scope);
  const address = resolveAddress(named, parts, preset, service && usualPath(service), scope);
  const state = { name, place, whenAlone };
  if (!data) return { ...state, provider: null, unset: [] };
  const keys = compileKeys(named, data, preset, adapter, address, scope);
  const unset = [...new Set([...keys.unset, ...address.unset])];
  /** Returns the stated value, otherwise the value of the preset, otherwise the default. */
  const stated = <T>(key: string, value: T, ofPreset: T | undefined): T =>
    valueAt(tree, key) ? value : (ofPreset ?? value);
  const { cache } = preset;
  const pagesMax = readPagesMax(data.pages_max);
  const discover = discoverOf(data);
  if (adapter) reviewDiscover(named, adapter, scope.report);
  const provider: Provider | null = adapter && {
    name,
    adapter: adapter.name,
    settings: adapter.settings,
    baseUrl: address.url,
    allowPrivateNetwork: stated('allow_private_network', data.allow_private_network, preset.allowPrivateNetwork),
    accounts: keys.accounts,
    passthrough: new Set(stated('passthrough', data.passthrough, preset.passthrough)),
    cache: {
      ttlMs: stated('cache_ttl_s', data.cache_ttl_s, cache?.ttlS) * 1000,
      tokensMin: stated('cache_min_tokens', data.cache_min_tokens, cache?.tokensMin),
    },
    afterAbort: readAbortBilling(data.after_abort) ?? adapter.afterAbort ?? UNKNOWN_BILLING,
    ...(pagesMax && { pagesMax }),
    ...(discover !== 'off' && adapter?.findsModels && { discover, ...adapter.findsModels }),
  };
  const isHosted = isKnownService(data.preset, address.url, scope.providers);
  return {
    ...state,
    isHosted,
    provider,
    unset,
    lacks: adapter?.lacks,
    passes: adapter?.passes,
    has: adapter?.has,
  };
}

const isKnownService = (
  preset: string | undefined,
  address: string | null,
  plugins: ReadonlyMap<string, ProviderPlugin>,
): boolean =>
  (preset !== undefined && !isOwnServer(preset)) || (address !== null && isServiceAddress(address, plugins));

/** Checks the adapter's settings, and that the provider has an address if the adapter needs one. */
function prepareAdapter(
  { path, tree, place }: NamedItem<ProviderText>,
  service: ProviderService,
  scope: ProviderContext,
) {
  const { plugin, preset } = service;
  const subject = { path: `${path}.settings`, tree: valueAt(tree, 'settings') ?? emptyMap(place), place };
  const checked = checkOptions(plugin.settings, subject, scope.report);
  if (!checked) return null;
  const ofPreset = Object.entries(preset.settings ?? {}).filter(([key]) => !valueAt(subject.tree, key));
  const settings = { ...checked, ...Object.fromEntries(ofPreset) };
  let prepared: PreparedProvider;
  try {
    prepared = plugin.prepare(settings);
  } catch (error) {
    const message = `adapter \`${plugin.name}\` does not accept its settings: ${messageOf(error)}`;
    scope.report.add('plugin-failed', subject.tree.place, message);
    return null;
  }
  const isAddressed =
    ['base_url', 'base_url_env'].some((key) => isStated(tree, key)) || preset.baseUrl || preset.baseUrlEnv;
  if (prepared.kind === 'wire' && !isAddressed) {
    scope.report.add('missing-key', place, `\`${path}\` needs the key \`base_url\` or \`base_url_env\``, {
      hint: `adapter \`${plugin.name}\` calls a service, so it needs the address of that service`,
    });
  }
  return {
    name: plugin.name,
    settings,
    lacks: prepared.lacks?.bind(prepared),
    passes: prepared.passes?.bind(prepared),
    has: byOperation((operation) => hasOperation(prepared, operation)),
    afterAbort: prepared.afterAbort,
    takesKey: prepared.kind !== 'wire' || prepared.auth !== undefined,
    findsModels: prepared.kind === 'wire' ? prepared.modelServer && addCommandOf(prepared.modelServer) : undefined,
  };
}

/** Whether an adapter has an operation. Every adapter has conversations. */
function hasOperation(adapter: PreparedProvider, operation: Operation): boolean {
  if (!isOfTexts(operation)) return true;
  const part = OPERATION_PARTS[operation];
  return (adapter.kind === 'wire' ? part.wire(adapter) : part.inProcess(adapter)) !== undefined;
}

const addCommandOf = ({ addCommand }: ModelServerAdapter) => (addCommand === undefined ? {} : { addCommand });

/** Reports a policy that wants the models of a server to be found, although the adapter cannot read its lists. */
function reviewDiscover(
  { path, tree, data }: NamedItem<ProviderText>,
  { name, findsModels }: NonNullable<ReturnType<typeof prepareAdapter>>,
  report: Report,
): void {
  if (findsModels || data?.discover === undefined || data.discover === 'off') return;
  const message = `\`${path}\` has \`discover\`, but its adapter \`${name}\` does not know which program serves the models`;
  report.add('conflicting-keys', placeAt(tree, 'discover'), message, {
    expected: `one of the presets ${DISCOVERED_PRESETS.map((one) => `\`${one}\``).join(', ')}, or \`settings: { server: … }\``,
  });
}

/** The keys of a provider, and the variables that keep it from serving because they are not set. */
interface ProviderKeys {
  readonly accounts: Provider['accounts'];
  readonly unset: readonly string[];
}

function compileKeys(
  named: NamedItem<ProviderText>,
  data: ProviderText,
  preset: ProviderPreset,
  adapter: ReturnType<typeof prepareAdapter>,
  address: ProviderAddress,
  scope: ProviderContext,
): ProviderKeys {
  if (data.api_keys_env) return compilePool(named, data.api_keys_env, adapter, address, scope);
  const apiKeyEnv = data.api_key_env ?? preset.apiKeyEnv ?? null;
  if (apiKeyEnv === null) return { accounts: [{ apiKeyEnv }], unset: [] };
  const at = valueAt(named.tree, 'api_key_env')?.place ?? named.place;
  reviewSent('api_key_env', named, at, adapter, scope.report);
  reviewKey(apiKeyEnv, scope.env.get(apiKeyEnv)?.trim(), at, scope.report);
  refuseOtherHost(apiKeyEnv, address, at, scope);
  return { accounts: [{ apiKeyEnv }], unset: hasKeyIn(scope.env, apiKeyEnv) ? [] : [apiKeyEnv] };
}

/** A pool serves as long as one of its variables is set. */
function compilePool(
  named: NamedItem<ProviderText>,
  keys: NonNullable<ProviderText['api_keys_env']>,
  adapter: ReturnType<typeof prepareAdapter>,
  address: ProviderAddress,
  { env, report }: ProviderContext,
): ProviderKeys {
  const place = placeAt(named.tree, 'api_keys_env');
  reviewSent('api_keys_env', named, place, adapter, report);
  const variables = variablesOf(keys);
  const names = namesOf(keys);
  for (const [at, variable] of variables.entries()) {
    const stated = valueAt(named.tree, 'api_keys_env', at)?.place ?? place;
    if (variables.indexOf(variable) < at) {
      report.add('conflicting-keys', stated, `\`${named.path}.api_keys_env\` names ${variable} twice`, {
        expected: 'each variable once; `weight` sets its share',
      });
    }
    if (names.indexOf(names[at]!) < at && variables.indexOf(variable) === at) {
      report.add('conflicting-keys', stated, `two keys of \`${named.path}.api_keys_env\` are named ${names[at]}`, {
        expected: 'a different `label` for each key',
      });
    }
    for (const key of keysIn(env.get(variable))) reviewKey(variable, key, stated, report);
    refuseOtherHost(variable, address, stated, { env, report });
  }
  const [first, ...others] = poolOf(keys, env);
  if (!first) return { accounts: [{ apiKeyEnv: variables[0] ?? null }], unset: variables };
  if (others.length >= KEYS_MAX) {
    report.add('bad-environment', place, `\`${named.path}.api_keys_env\` has ${others.length + 1} keys`, {
      expected: `at most ${KEYS_MAX} keys, counting every line of the variables`,
    });
  }
  return { accounts: [first, ...others.slice(0, KEYS_MAX - 1)], unset: [] };
}

/** Reports API keys that the adapter does not send. */
function reviewSent(
  key: 'api_key_env' | 'api_keys_env',
  { path }: NamedItem<ProviderText>,
  at: SourceSpan,
  adapter: ReturnType<typeof prepareAdapter>,
  report: Report,
): void {
  if (adapter?.takesKey !== false) return;
  const message = `\`${path}\` has \`${key}\`, but its adapter \`${adapter.name}\` sends no key`;
  report.add('conflicting-keys', at, message, { expected: `an adapter with \`auth\`, or no \`${key}\`` });
}

/** Reports a token that would go to a host to which its source does not allow it to go. */
function refuseOtherHost(
  variable: string,
  { url, variable: named }: ProviderAddress,
  at: SourceSpan,
  { env, report }: Pick<ProviderContext, 'env' | 'report'>,
): void {
  const source = env.sourced?.(variable);
  if (!source || url === null || mayReceive(source.hosts, url)) return;
  // A check of a policy that a request sends does not read the variable of an address. The server reads it before it serves the policy.
  if (named !== undefined && env.get(named) === PLACEHOLDER) return;
  const { protocol, hostname } = new URL(url);
  // The value of a variable is not shown.
  const destination = named === undefined ? `\`${protocol}//${hostname}\`` : `the address in ${named}`;
  const message = `the token of ${variable} may not be sent to ${destination}`;
  const { file, hosts } = source;
  report.add('token-host', at, message, {
    expected: `an address at one of the hosts that ${file} names: ${listNames(hosts)}`,
    hint:
      protocol === 'http:' && mayReceive(hosts, url.replace('http:', 'https:'))
        ? 'without `https://`, others on the network could read the token. If that is fine, write `http://` before the host in that file'
        : 'only a person who can edit that file on the server can add hosts',
  });
}

/** Reports a key that is too short to be found and masked in texts. */
function reviewKey(variable: string, key: string | undefined, at: SourceSpan, report: Report): void {
  if (!key || key.length >= RUN_MIN) return;
  const message = `the key in ${variable} has fewer than ${RUN_MIN} characters`;
  report.add('short-key', at, message, {
    hint: 'Signalbox does not remove so short a key from messages of the provider; use a longer key, or none if the server needs none',
  });
}

/** Returns the public address of a service in its current form, and any other address unchanged. */
const currentUrl = (url: string | null, { baseUrl, formerPath }: ProviderPreset): string | null =>
  baseUrl !== undefined && formerPath !== undefined && url === baseUrl + formerPath ? baseUrl : url;

/** The address of a provider. */
interface ProviderAddress {
  /** Null if it is wrong, or not known in this environment. */
  readonly url: string | null;
  /** The variable that has the address; absent for an address in the policy or of a preset. */
  readonly variable?: string;
  readonly unset: readonly string[];
}

/**
 * Returns the address of a provider. `unset` names the environment variable for the address, if that variable is not set.
 * @param usual the path at which services of this kind have their API; null for none
 */
function resolveAddress(
  { path, tree }: NamedItem<ProviderText>,
  data: Partial<ProviderText>,
  preset: ProviderPreset,
  usual: string | null,
  scope: ProviderContext,
): ProviderAddress {
  const isStated = data.base_url !== undefined || data.base_url_env !== undefined;
  const { base_url: literal, base_url_env: variable } = isStated
    ? data
    : { base_url: preset.baseUrl, base_url_env: preset.baseUrlEnv };
  const isPermitted = valueAt(tree, 'allow_private_network') ? data.allow_private_network : preset.allowPrivateNetwork;
  const reviewUrl = (
    url: string,
    written: Parameters<typeof reviewPath>[0],
    source: string,
    address: string,
    place: SourceSpan,
  ) => {
    if (usual !== null && isStated && scope.isReviewed) reviewPath(written, address, usual, place, scope.report);
    refuseForbidden(url, source, place, scope.report);
    if (!isPermitted) reviewPrivateHost(url, source, place, OF_PROVIDER, scope.report);
    refusePathOfCall(url, address, place, scope.report);
  };
  checkExcluded(ProviderText, { path, tree }, scope.report);
  if (literal !== undefined) {
    const url = currentUrl(normalUrl(literal), preset);
    const place = placeAt(tree, 'base_url');
    const what = `\`${path}.base_url\``;
    if (url === null) reportNoAddress(literal, what, place, scope.report);
    else reviewUrl(url, { written: literal.trim(), isSecret: false }, what, what, place);
    return { url, unset: [] };
  }
  if (variable === undefined) return { url: null, unset: [] };
  const value = scope.env.get(variable)?.trim();
  if (!value) return { url: null, variable, unset: [variable] };
  const url = currentUrl(behind(normalUrl(value), isStated ? undefined : preset.basePath), preset);
  const place = placeAt(tree, 'base_url_env');
  // The message does not show the value of the variable, because it may be a secret in the wrong variable.
  if (url === null)
    scope.report.add('bad-environment', place, `the environment variable ${variable} does not hold a URL`, ADDRESS);
  else
    reviewUrl(url, { written: value, isSecret: true }, `the variable ${variable}`, `the address in ${variable}`, place);
  return { url, variable, unset: [] };
}

/** The path of an API call at the end of an address. The adapter appends the path of each call, so the policy must not state it. */
const OF_A_CALL = /\/(?:chat\/completions|completions|responses|messages|embeddings|models)$/;

function refusePathOfCall(url: string, what: string, place: SourceSpan, report: Report): void {
  const [path] = OF_A_CALL.exec(url) ?? [];
  if (path === undefined) return;
  report.add('bad-form', place, `${what} ends in \`${path}\`, but Signalbox appends the path of each call itself`, {
    expected: 'the base address of the API, such as https://api.example.com/v1',
  });
}

/** Adds the path of the API to an address that has only a host. */
function behind(url: string | null, path: string | undefined): string | null {
  return url !== null && path !== undefined && new URL(url).pathname === '/' ? url + path : url;
}
