import type { DefaultPolicies } from '../../src/admin/use-cases/serve-options.ts';
import { TASK_NAMES } from '../../src/core/request/tasks.ts';

/** Addresses of a test's upstreams by provider name, with the adapter if it is not OpenAI's. */
export type Upstreams = Readonly<Record<string, string | { readonly url: string; readonly adapter: string }>>;

export interface ModelOptions {
  readonly endpoints: readonly string[];
  readonly price?: { readonly input: number; readonly output: number };
  readonly quality?: number;
  readonly more?: string;
  /** The start of the first provider's name for the model; the model's ID follows. */
  readonly upstream?: string;
  readonly capabilities?: readonly string[];
}

/** The sizes of `coding`, and of all other tasks. */
const CODING = '{ expected_output_tokens: 1200, default_input_tokens: 2000, min_useful_output: 64 }';
const GENERAL = '{ expected_output_tokens: 400, default_input_tokens: 500, min_useful_output: 64 }';

/**
 * A small policy with round figures: 1 Credit is 0.001 USD, so a price of 1 is 1 millicredit per token. The policy allows no retries unless
 * a `gateway` section in `more` sets them. Streams that fail end normally, because \`fetch\` throws away what it read before a break.
 */
export function testPolicy(upstreams: Upstreams, models: Readonly<Record<string, ModelOptions>>, more = ''): string {
  const providers = Object.entries(upstreams).map(([name, upstream]) => {
    const { url, adapter } = typeof upstream === 'string' ? { url: upstream, adapter: 'openai-compatible' } : upstream;
    return `  ${name}: { adapter: ${adapter}, base_url: "${url}", api_key_env: TEST_UPSTREAM_KEY, passthrough: [verbosity] }`;
  });
  return `version: 1
credits: { usd_per_credit: 0.001 }
providers:
${providers.join('\n')}
default_weights: { cost: 0.3, quality: 0.7 }
unstated_quality: default
tasks:
${[...new Set(['general', 'coding', ...TASK_NAMES])].map((name) => `  ${name}: ${name === 'coding' ? CODING : GENERAL}\n`).join('')}models:
${Object.entries(models)
  .map(([id, options]) => modelYaml(id, options))
  .join('\n')}
${more}${/^gateway:/m.test(more) ? '' : '\ngateway: { retries_max: 0 }\n'}`.replace(
    /^gateway: \{ (?!.*failed_streams)/m,
    'gateway: { failed_streams: end, ',
  );
}

/**
 * Returns the policy with a change: an answer below 100 tokens is not useful, so a request for 100 tokens fits completely or not at all.
 */
export const allOrNothing = (policy: string): string =>
  policy.replaceAll('min_useful_output: 64', 'min_useful_output: 100');

/** Returns the policy with providers that also continue texts, if their adapter can. Callers of every dialect then get an answer. */
export const withCompletions = (policy: string): string =>
  policy.replaceAll(
    'adapter: openai-compatible,',
    'adapter: openai-compatible, settings: { completions: prompt_and_suffix },',
  );

function modelYaml(
  id: string,
  { endpoints, price = { input: 1, output: 4 }, quality = 0.8, more = '', upstream = '', ...rest }: ModelOptions,
): string {
  const { capabilities = ['tools', 'json_schema'] } = rest;
  const nameAt = (at: number): string => `${at > 0 || upstream === '' ? '' : `${upstream}-`}${id}-upstream`;
  const served = endpoints.map((provider, at) => `{ provider: ${provider}, upstream: ${nameAt(at)} }`);
  return `  ${id}:
    endpoints: [${served.join(', ')}]
    price: { input: ${price.input}, output: ${price.output}, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 8192
    default_max_output: 1024
    capabilities: [${capabilities.join(', ')}]
    languages: [python, typescript]
    latency: { ttft_ms: 100, output_tokens_per_second: 100, basis: guessed }
    quality: { default: ${quality}, basis: guessed }
${more}`;
}

/** The key that the fake upstreams of `testPolicy` expect. */
export const UPSTREAM_KEY = 'upstream-secret-for-tests';
export const UPSTREAM_ENV = { TEST_UPSTREAM_KEY: UPSTREAM_KEY };

/** A policy with the simulated model `toy`, which needs no upstream. */
export const TOY = `version: 1
providers: { sim: { adapter: simulated } }
models:
  toy:
    provider: sim
    price: { input: 1000, output: 4000, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 256
    latency: { ttft_ms: 1, output_tokens_per_second: 100000, basis: guessed }
    quality: { default: 0.5, basis: guessed }
`;

/** The default policy folders for `parseCommand`, all of them the same folder. */
export const policiesAt = (folder: string): DefaultPolicies => ({
  forServe: () => folder,
  forCommands: () => folder,
});
