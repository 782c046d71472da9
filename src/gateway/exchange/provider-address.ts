import type { Provider } from '../../core/policy/snapshot.ts';

/** The name and address of a provider in OpenTelemetry's conventions. */
export interface ProviderAddress {
  /** The name of the provider in OpenTelemetry's conventions, or else the name that the policy gives the provider. */
  readonly name: string;
  /** The host; undefined for a provider in this process. */
  readonly address: string | undefined;
  readonly port: number | undefined;
}

/**
 * Provider names by host. The host is checked first, because many providers use the dialect of another provider, and policies can choose
 * any name.
 */
const HOSTS: readonly (readonly [suffix: string, name: string])[] = [
  ['api.openai.com', 'openai'],
  ['openai.azure.com', 'azure.ai.openai'],
  ['services.ai.azure.com', 'azure.ai.inference'],
  ['api.anthropic.com', 'anthropic'],
  ['generativelanguage.googleapis.com', 'gcp.gemini'],
  ['aiplatform.googleapis.com', 'gcp.vertex_ai'],
  ['amazonaws.com', 'aws.bedrock'],
  ['api.aws', 'aws.bedrock'],
  ['api.mistral.ai', 'mistral_ai'],
  ['api.groq.com', 'groq'],
  ['api.deepseek.com', 'deepseek'],
  ['api.x.ai', 'x_ai'],
  ['api.perplexity.ai', 'perplexity'],
  ['cohere.com', 'cohere'],
  ['cohere.ai', 'cohere'],
];

/** Provider names by dialect, for an operator's own address such as a proxy. Only the providers that made these dialects use them. */
const ADAPTERS: Readonly<Record<string, string>> = { anthropic: 'anthropic', gemini: 'gcp.gemini' };

/** Provider names by the names that the shipped policy uses. */
const NAMES: Readonly<Record<string, string>> = {
  openai: 'openai',
  'azure-openai': 'azure.ai.openai',
  'azure-anthropic': 'azure.ai.inference',
  mistral: 'mistral_ai',
  groq: 'groq',
  deepseek: 'deepseek',
  xai: 'x_ai',
};

/** The name and address of a provider are cached, because each call needs them and providers are frozen. */
const addresses = new WeakMap<Provider, ProviderAddress>();

/** Returns the name and address of a provider. */
export const providerAddressOf = (provider: Provider): ProviderAddress =>
  addresses.getOrInsertComputed(provider, addressOf);

function addressOf(provider: Provider): ProviderAddress {
  const url = provider.baseUrl === null ? null : URL.parse(provider.baseUrl);
  // In a URL, an IPv6 address has brackets.
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
