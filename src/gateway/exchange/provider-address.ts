import type { Provider } from '../../core/snapshot.ts';

/** The name and address of a provider in OpenTelemetry's conventions. */
export interface ProviderAddress {
  /** One of the values that the conventions list, or else the policy's name of it. */
  readonly name: string;
  /** The host; undefined for a provider in this process. */
  readonly address: string | undefined;
  readonly port: number | undefined;
}

/** Names by host. The host decides first: many services speak another's dialect, and the policy's names are free. */
const HOSTS: readonly (readonly [suffix: string, name: string])[] = [
  ['api.openai.com', 'openai'],
  ['openai.azure.com', 'azure.ai.openai'],
  ['services.ai.azure.com', 'azure.ai.inference'],
  ['api.anthropic.com', 'anthropic'],
  ['generativelanguage.googleapis.com', 'gcp.gemini'],
  ['aiplatform.googleapis.com', 'gcp.vertex_ai'],
  ['amazonaws.com', 'aws.bedrock'],
  ['api.mistral.ai', 'mistral_ai'],
  ['api.groq.com', 'groq'],
  ['api.deepseek.com', 'deepseek'],
  ['api.x.ai', 'x_ai'],
  ['api.perplexity.ai', 'perplexity'],
  ['cohere.com', 'cohere'],
  ['cohere.ai', 'cohere'],
];

/** Names by dialect, for an own address such as a proxy's. Only the makers speak these dialects. */
const ADAPTERS: Readonly<Record<string, string>> = { anthropic: 'anthropic', gemini: 'gcp.gemini' };

/** Names by the shipped policy's names. */
const NAMES: Readonly<Record<string, string>> = {
  openai: 'openai',
  'azure-openai': 'azure.ai.openai',
  mistral: 'mistral_ai',
  groq: 'groq',
  deepseek: 'deepseek',
  xai: 'x_ai',
};

/** Providers are frozen, and each call asks for one. */
const addresses = new WeakMap<Provider, ProviderAddress>();

/** Returns the name and address of a provider. */
export const providerAddressOf = (provider: Provider): ProviderAddress =>
  addresses.getOrInsertComputed(provider, addressOf);

function addressOf(provider: Provider): ProviderAddress {
  const url = provider.baseUrl === null ? null : URL.parse(provider.baseUrl);
  // An IPv6 address has brackets.
  const address = url?.hostname.replace(/^\[|\]$/g, '');
  return {
    name: nameOf(provider, address ?? ''),
    address,
    port: url ? Number(url.port) || (url.protocol === 'http:' ? 80 : 443) : undefined,
  };
}

function nameOf({ name, adapter }: Provider, host: string): string {
  const byHost = HOSTS.find(([suffix]) => host === suffix || host.endsWith(`.${suffix}`));
  return byHost?.[1] ?? own(ADAPTERS, adapter) ?? own(NAMES, name) ?? name;
}

const own = (of: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(of, name) ? of[name] : undefined;
