/** Returns a policy with one simulated model for each operation, and with these sections. */
export const policyOf = (more: string) => `version: 1
providers: { sim: { adapter: simulated } }
models:
  every:
    provider: sim
    price: { input: 0.1, output: 0.4, as_of: 2026-11-20, basis: own }
    context_window: 10000000
    max_output: 8192
    capabilities: [tools, json_mode, json_schema, vision, reasoning]
    latency: { ttft_ms: 1, output_tokens_per_second: 10000, basis: guessed }
    quality: { default: 0.8, basis: guessed }
  vectors:
    provider: sim
    price: { input: 0.1, output: 0, as_of: 2026-11-20, basis: own }
    context_window: 1000000
    operations: [embed]
    capabilities: [token_input]
    embedding: { dimensions: 64, batch_inputs: 2048 }
    latency: { ttft_ms: 1, output_tokens_per_second: 10000, basis: guessed }
${more}`;

/** Limits that admit the largest of the worst requests. */
export const RAISED = 'gateway: { body_bytes_max: 33554432, messages_max: 100000, tools_max: 10000 }\n';
