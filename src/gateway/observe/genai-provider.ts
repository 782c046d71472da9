import type { Provider } from '../../core/snapshot.ts';

/** A provider as OpenTelemetry knows it, and where it is. */
export interface Endpointed {
  /** Of the values that the conventions list; else the policy's own name of it. */
  readonly name: string;
  /** Of the host; undefined for what answers in this process. */
  readonly address: string | undefined;
  readonly port: number | undefined;
}

/** The address says it best: many speak another's dialect, and names are the policy's to choose. */
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

/** Behind an address of one's own, such as a proxy's: the dialects that only their makers speak. */
const ADAPTERS: Readonly<Record<string, string>> = { anthropic: 'anthropic', gemini: 'gcp.gemini' };

/** The shipped policy's names. */
const NAMES: Readonly<Record<string, string>> = {
  openai: 'openai',
  'azure-openai': 'azure.ai.openai',
  mistral: 'mistral_ai',
  groq: 'groq',
  deepseek: 'deepseek',
  xai: 'x_ai',
};

/** A provider is frozen, and asked for with every call. */
const places = new WeakMap<Provider, Endpointed>();

export function placeOf(provider: Provider): Endpointed {
  const known = places.get(provider);
  if (known) return known;
  const url = provider.baseUrl === null ? null : URL.parse(provider.baseUrl);
  // Without the brackets of an IPv6 address.
  const address = url?.hostname.replace(/^\[|\]$/g, '');
  const place: Endpointed = {
    name: nameOf(provider, address ?? ''),
    address,
    port: url ? Number(url.port) || (url.protocol === 'http:' ? 80 : 443) : undefined,
  };
  places.set(provider, place);
  return place;
}

function nameOf({ name, adapter }: Provider, host: string): string {
  const byHost = HOSTS.find(([suffix]) => host === suffix || host.endsWith(`.${suffix}`));
  return byHost?.[1] ?? own(ADAPTERS, adapter) ?? own(NAMES, name) ?? name;
}

const own = (of: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(of, name) ? of[name] : undefined;
