import { treeMeter } from '../process.ts';
import { fixed, median, quantile, table } from '../stats.ts';
import { JSON_200, workloadOf } from '../workload.ts';
import { type Send, senderOf } from './requests.ts';
import type { RunningGateway } from './running.ts';

/** The numbers of recorded requests at which the cost is measured. */
const FULL = [0, 10_000, 100_000];
const QUICK = [0, 1_000, 5_000];
const ROUNDS = 3;
/** The requests of a round, which are few compared with the recorded requests. */
const BUSY = { inFlight: 64, requests: 256 };
const ALONE = { inFlight: 1, requests: 60 };
/** The number of requests that are sent in one block to fill the records, and the maximum time for filling. */
const BLOCK = 500;
const FILL_MS = 300_000;

/** The figures of a gateway at one number of records. */
interface Stage {
  /** CPU time in µs per request with 64 in flight, for each round. */
  readonly cpu: number[];
  /** The latencies in ms of requests that are sent one at a time. */
  readonly alone: number[];
}

interface Grower {
  readonly name: string;
  readonly pids: readonly number[];
  readonly send: Send;
  /** The stages, one for each number of records that the gateway reached in time. */
  readonly stages: Stage[];
  sent: number;
}

/**
 * Measures, in turns, what a request costs after more and more recorded requests.
 * @param gateways the floor for comparison, and the gateways that record
 * @returns Markdown: a row for each gateway
 */
export async function compareGrowth(gateways: readonly RunningGateway[], quick: boolean): Promise<string> {
  const workload = workloadOf(JSON_200);
  const growers = gateways.map((gateway): Grower => {
    return { name: gateway.name, pids: gateway.pids, send: senderOf(gateway, workload), stages: [], sent: 0 };
  });
  const counts = quick ? QUICK : FULL;
  for (const [nth, count] of counts.entries()) {
    const ready: Grower[] = [];
    for (const one of growers) if (one.stages.length === nth && (await isFilled(one, count))) ready.push(one);
    for (const one of ready) one.stages.push({ cpu: [], alone: [] });
    for (let round = 0; round < ROUNDS; round++) for (const one of ready) await measure(one);
    process.stderr.write(`${count} recorded: ${ready.map((one) => `${one.name} ${cellOf(one, nth)}`).join(', ')}\n`);
  }
  const head = ['recorded before', ...counts.map((count) => count.toLocaleString('en'))];
  return table([head, ...growers.map((one) => [one.name, ...counts.map((_, nth) => cellOf(one, nth))])]);
}

/** Sends requests until this number of requests is recorded. @returns false if that takes too long */
async function isFilled(grower: Grower, count: number): Promise<boolean> {
  const until = performance.now() + FILL_MS;
  while (grower.sent < count) {
    if (performance.now() > until) return false;
    await sendSome(grower, BUSY.inFlight, Math.min(BLOCK, count - grower.sent));
  }
  return true;
}

async function measure(grower: Grower): Promise<void> {
  const { cpu, alone } = grower.stages.at(-1)!;
  const spent = treeMeter(grower.pids);
  await sendSome(grower, BUSY.inFlight, BUSY.requests);
  cpu.push(spent() / BUSY.requests);
  alone.push(...(await sendSome(grower, ALONE.inFlight, ALONE.requests)));
}

/** @returns how long each request took, in ms @throws Error if an answer is wrong, because it may not be recorded */
async function sendSome(grower: Grower, inFlight: number, requests: number): Promise<Float64Array> {
  const { latencies, errors } = await grower.send(inFlight, requests);
  if (errors > 0) throw new Error(`${grower.name}: ${errors} of ${requests} answers were wrong`);
  grower.sent += requests;
  return latencies;
}

/** Returns the CPU time with 64 in flight in µs, and the p50 of single requests in ms. */
function cellOf({ stages, sent }: Grower, nth: number): string {
  const stage = stages[nth];
  if (!stage) return `stopped at ${sent.toLocaleString('en')}`;
  const { cpu, alone } = stage;
  return `${fixed(median(cpu), 0)} (${fixed(quantile(Float64Array.from(alone).sort(), 0.5), 2)})`;
}
