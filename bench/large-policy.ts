/** Returns a policy with many models and rules, different for each `edit`; half of the rules are preferences. */
export function largePolicy(models: number, rules: number, edit: number): string {
  const catalog = Array.from({ length: models }, (_, i) => modelText(i, edit));
  const constraints = Array.from({ length: rules / 2 }, (_, i) => constraintText(i));
  const preferences = Array.from({ length: rules / 2 }, (_, i) => preferenceText(i));
  return `version: 1
credits: { usd_per_credit: 0.001 }
providers:
  bench: { adapter: openai-compatible, base_url: "http://127.0.0.1:9/v1" }
  bench-eu: { adapter: openai-compatible, base_url: "http://127.0.0.1:9/v2" }
default_weights: { cost: 0.3, quality: 0.7 }
tasks:
  general: { expected_output_tokens: 400, default_input_tokens: 500, min_useful_output: 64 }
models:
${catalog.join('\n')}
constraints:
${constraints.join('\n')}
preferences:
${preferences.join('\n')}
`;
}

function modelText(i: number, edit: number): string {
  const price = ((i % 50) + 1) / 10;
  return `  bench-model-${i}:
    endpoints:
      - { provider: bench, upstream: upstream-${i}, regions: [us] }
      - { provider: bench-eu, upstream: upstream-${i}, regions: [eu] }
    price: { input: ${price}, output: ${price * 4}, as_of: 2026-11-01, basis: own }
    context_window: 131072
    max_output: 8192
    capabilities: [tools, json_schema]
    languages: [python, typescript]
    tags: [group-${i % 20}]
    latency: { ttft_ms: ${300 + (i % 40)}, output_tokens_per_second: ${140 - (i % 60)}, basis: guessed }
    quality: { default: ${(0.3 + ((i * 37 + edit) % 500) / 1000).toFixed(3)}, basis: guessed }`;
}

const constraintText = (i: number): string => `  - name: rule-${i}
    when: key.labels.team == "team-${i}" && request.input_tokens < ${1000 + i}.0
    require: '"group-${i % 20}" in model.tags || "eu" in endpoint.regions'`;

const preferenceText = (i: number): string => `  - name: preference-${i}
    when: request.metadata.kind == "kind-${i}" && time.hour < 6.0
    prefer: model.price.output <= ${1 + (i % 10)}.0
    worth: 0.05`;
