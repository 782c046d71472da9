import { newKey, startWithPolicy } from './gateways.ts';
import { largePolicy } from './large-policy.ts';
import { run } from './load.ts';
import { benchPolicy } from './policy.ts';
import { cpuMicros } from './process.ts';
import { fixed, lowerQuartile, quantile, table } from './stats.ts';
import { httpBytes } from './workload.ts';

/**
 * `GET /v1/models` with a usual catalog, and with a large one that has an alias for each model. Clients call `GET /v1/models` at every
 * start.
 */
export interface ModelsPlan {
  readonly rounds: number;
  readonly requests: number;
}

const LARGE = 500;
const HEAD = ['`GET /v1/models`, 16 in flight', 'KB', 'µs', 'p50 ms', 'p99 ms'];
const NOWHERE = 'http://127.0.0.1:9/v1';

const withAliases = (policy: string): string =>
  policy.replaceAll(/^ {2}(bench-model-\d+):$/gm, (line, id: string) => `${line}\n    aliases: [alias-of-${id}]`);

/** @returns a table with a row for each policy. */
export async function modelLists({ rounds, requests }: ModelsPlan): Promise<string> {
  const key = newKey();
  const lanes = [];
  const policies = [
    ['12 models', benchPolicy(NOWHERE)],
    [`${LARGE} models and ${LARGE} aliases`, withAliases(largePolicy(LARGE, 200, 0))],
  ] as const;
  try {
    for (const [name, policy] of policies) {
      const program = await startWithPolicy(policy, key);
      const headers = { authorization: `Bearer ${key}` };
      const answer = await fetch(`http://127.0.0.1:${program.port}/v1/models`, { headers });
      const bytes = (await answer.arrayBuffer()).byteLength;
      const request = httpBytes(program.port, '/v1/models', key, null);
      lanes.push({ name, program, bytes, request, cpu: [] as number[], p50: [] as number[], p99: [] as number[] });
    }
    for (const { program, request } of lanes) await run(program.port, request, 16, 4 * requests);
    for (let round = 0; round < rounds; round++) {
      for (const { program, request, cpu, p50, p99 } of lanes) {
        const before = cpuMicros(program.pid);
        const { latencies } = await run(program.port, request, 16, requests);
        cpu.push((cpuMicros(program.pid) - before) / requests);
        p50.push(quantile(latencies, 0.5));
        p99.push(quantile(latencies, 0.99));
      }
    }
  } finally {
    await Promise.all(lanes.map(({ program }) => program.stop()));
  }
  const rows = lanes.map(({ name, bytes, cpu, p50, p99 }) => [
    name,
    fixed(bytes / 1_000, 0),
    fixed(lowerQuartile(cpu), 0),
    fixed(lowerQuartile(p50), 2),
    fixed(lowerQuartile(p99), 2),
  ]);
  return table([HEAD, ...rows]);
}
