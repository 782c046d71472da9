import { shipped } from '../plugins/index.ts';
import { createRegistry } from '../src/host/plugins/registry.ts';
import { loadPolicy } from '../src/policy/load.ts';
import { buildRuntime, type Runtime } from '../src/policy/runtime/runtime.ts';

/** Returns a policy with twelve different models at one upstream, which is the size of a usual catalog. */
export function benchPolicy(upstream: string, adapter = 'openai-compatible'): string {
  const models = Array.from({ length: 12 }, (_, i) => {
    const price = (i + 1) / 10;
    return `  bench-model-${i}:
    provider: bench
    upstream: bench-model-upstream
    price: { input: ${price}, output: ${price * 4}, as_of: 2026-11-01, basis: own }
    context_window: 131072
    max_output: 8192
    capabilities: [tools, json_schema]
    languages: [python, typescript]
    latency: { ttft_ms: ${300 + 40 * i}, output_tokens_per_second: ${140 - 6 * i}, basis: guessed }
    quality: { default: ${(0.5 + i / 30).toFixed(3)}, coding: ${(0.45 + i / 28).toFixed(3)}, basis: guessed }`;
  });
  return `version: 1
credits: { usd_per_credit: 0.001 }
providers:
  bench: { adapter: ${adapter}, base_url: "${upstream}" }
default_weights: { cost: 0.3, quality: 0.7 }
tasks:
  general: { expected_output_tokens: 400, default_input_tokens: 500, min_useful_output: 64 }
models:
${models.join('\n')}
`;
}

/** Two budgets that never run out, so that each request holds its worst case in both. */
const BUDGETS = `budgets:
  - { name: all, limit_credits: 1000000000, window: month }
  - { name: by-key, each: key, limit_credits: 100000000, window: day, on_exhausted: downgrade, alert_at: [0.8, 1] }
`;

/** Returns the policy of `benchPolicy` with two budgets and nothing else, which a governed gateway checks before a call. */
export const governedPolicy = (upstream: string): string => `${benchPolicy(upstream)}${BUDGETS}`;

/** Returns the policy of `benchPolicy` with rules of every kind, budgets and limits, so that it uses every feature. */
export function fullPolicy(upstream: string): string {
  return `${benchPolicy(upstream)}
constraints:
  - { name: legal-has-tools, when: key.labels.department == "legal", require: '"tools" in model.capabilities' }
  - { name: small-is-cheap, when: request.input_tokens < 50.0, require: model.price.output < 6.0 }
  - { name: quick-chat, when: request.task == "chat", max_latency_ms: 60000 }
  - { name: ceiling, max_cost_credits: 100000 }
preferences:
  - { name: good-code, when: request.task == "coding", prefer: model.quality.coding > 0.7, worth: 0.05 }
  - { name: cheap-all-day, when: time.hour < 24.0, prefer: model.price.output < 2.0, worth: 0.05 }
${BUDGETS}rate_limits:
  - { name: by-key, each: key, requests_per_minute: 100000000, tokens_per_minute: 1000000000, concurrent_streams: 10000 }
`;
}

/** Returns the policy of `benchPolicy`, ready for use within this process. */
export function benchRuntime(upstream: string): Runtime {
  const registry = createRegistry(shipped);
  const files = [{ path: 'policy.yaml', text: benchPolicy(upstream) }];
  const env = { get: () => undefined };
  const { snapshot, diagnostics } = loadPolicy(files, { env, ...registry, revisionOf: () => 'bench' });
  if (!snapshot) throw new Error(JSON.stringify(diagnostics));
  return buildRuntime(snapshot, registry, env);
}
