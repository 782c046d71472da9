import { beforeEach } from 'bun:test';
import type { Json } from '../../plugins/providers/json.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** The `max_output` of the models. */
export const MAX = {
  small: 2_048,
  large: 16_384,
  claude: 8_192,
  responds: 4_096,
  thinks: 1_000,
  narrow: 3_000,
} as const;

export interface PolicyOptions {
  /** Keys of the section `gateway`. */
  readonly gateway?: string;
  readonly more?: string;
}

export const hi = [{ role: 'user', content: 'hi' }];
/** The `max_tokens` that Claude Code and opencode send. */
export const ASKED = 32_000;

export const chat = (box: Signalbox, body: object = {}, init: RequestInit = {}) =>
  box.post('/v1/chat/completions', { model: 'small', messages: hi, max_tokens: ASKED, ...body }, init);
/**
 * Starts upstreams, with a policy whose models have small and large maximum outputs. Also returns the last body that an upstream received.
 */
export function useCappingModels() {
  const one = useUpstream();
  const two = useUpstream();
  const claude = useUpstream({ dialect: 'anthropic' });
  beforeEach(() => {
    for (const upstream of [one, two, claude]) upstream.behave({ text: 'Hello.' });
  });

  /** `auto` chooses `small`, and falls back to `large`. The policy has other models for requests that name them. */
  function policyOf({ gateway = 'retries_max: 0', more = '' }: PolicyOptions = {}): string {
    const model = (id: keyof typeof MAX, provider: string, quality: number, window = 200_000) => `  ${id}:
    endpoints: [{ provider: ${provider}, upstream: ${id}-upstream }]
    price: { input: 1, output: 4, as_of: 2026-11-01, basis: own }
    context_window: ${window}
    max_output: ${MAX[id]}
    default_max_output: ${Math.min(1_024, MAX[id])}
    capabilities: [tools, json_schema]
    latency: { ttft_ms: 100, output_tokens_per_second: 100, basis: guessed }
    quality: { default: ${quality}, basis: guessed }
`;
    return `version: 1
credits: { usd_per_credit: 0.001 }
gateway: { ${gateway} }
providers:
  one: { adapter: openai-compatible, base_url: "${one.url}", api_key_env: TEST_UPSTREAM_KEY }
  two: { adapter: openai-compatible, base_url: "${two.url}", api_key_env: TEST_UPSTREAM_KEY }
  claude: { adapter: anthropic, base_url: "${claude.url}", api_key_env: TEST_UPSTREAM_KEY }
  responds: { adapter: openai, base_url: "${one.url}", api_key_env: TEST_UPSTREAM_KEY }
tasks:
  general: { expected_output_tokens: 400, default_input_tokens: 500, min_useful_output: 64 }
models:
  "house/*": { provider: one, upstream: "*", max_output: 1000, context_window: 9000, unknown_price: { as: { input: 1, output: 4, basis: own, as_of: 2026-11-01 } } }
${model('small', 'one', 0.9)}${model('large', 'two', 0.5)}${model('claude', 'claude', 0.1)}${model('responds', 'responds', 0.1)}${model('narrow', 'one', 0.1, 4_096)}${model('thinks', 'one', 0.1)}    reasoning_tokens: 300
selectors:
  auto: { strategy: auto, models: { require: 'model.id in ["small", "large"]' } }
  thinkers: { strategy: auto, models: { require: 'model.id == "thinks"' } }
${more}`;
  }

  const sent = (upstream = one): Json => upstream.requests.at(-1)!.body as Json;
  return { one, two, claude, policyOf, sent };
}
