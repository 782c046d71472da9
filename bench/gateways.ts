import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Program, startProgram } from './process.ts';

const HERE = import.meta.dir;
const ROOT = join(HERE, '..');

/** Twelve models of different figures behind one upstream: the size of a usual catalog. */
function policy(upstream: string): string {
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
  bench: { adapter: openai-compatible, base_url: "${upstream}" }
reference_price: { input: 1, output: 4 }
answer_worth: 20
default_weights: { cost: 0.3, quality: 0.7 }
tasks:
  general: { expected_output_tokens: 400, default_input_tokens: 500, min_useful_output: 64 }
models:
${models.join('\n')}
`;
}

export interface Bench {
  readonly upstream: Program;
  readonly floor: Program;
  readonly signalbox: Program;
  readonly key: string;
  stop(): Promise<void>;
}

/** Starts the upstream, the floor in front of it, and Signalbox in full: key, schema, policy, decision, durable ledger. */
export async function startBench(): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-bench-'));
  const bun = process.execPath;
  const upstream = await startProgram([bun, join(HERE, 'upstream.ts')], /^(\d+)\n/);
  const address = `http://127.0.0.1:${upstream.port}/v1`;
  const floor = await startProgram([bun, join(HERE, 'floor.ts'), address], /^(\d+)\n/, {
    BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
  });
  const key = `sb_live_bench0000000_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')}`;
  writeFileSync(join(folder, 'policy.yaml'), policy(address));
  const signalbox = await startProgram(
    [join(ROOT, 'src/main.ts'), 'serve', '--port', '0', '--data', join(folder, 'data'), '--policies', folder],
    /127\.0\.0\.1:(\d+)/,
    { SIGNALBOX_API_KEY: key },
  );
  return {
    upstream,
    floor,
    signalbox,
    key,
    async stop() {
      await Promise.all([upstream.stop(), floor.stop(), signalbox.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
