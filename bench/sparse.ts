import { type Bench, startWithPolicy } from './gateways.ts';
import { run } from './load.ts';
import { benchPolicy } from './policy.ts';
import { cpuMeter, type Program, residentMiB } from './process.ts';
import { fixed, median, table } from './stats.ts';
import { bytesOf, httpBytes, JSON_200, workloadOf } from './workload.ts';

/**
 * The cost of a few requests after a pause. Most gateways see a few requests a second, and an engine drops compiled code while it waits.
 */
export interface SparsePlan {
  readonly rounds: number;
  /** The pauses before the requests, in seconds; 0 means no pause. */
  readonly pauses: readonly number[];
}

const REQUESTS = 300;
const IN_FLIGHT = 4;
/** A server with little traffic has answered few requests since its start. */
const WARM_UP = 3_000;
/** The environments whose servers take turns. The second one makes the JavaScript engine keep compiled code that was not used lately. */
const ENVIRONMENTS = { '': {}, ', compiled code kept': { BUN_JSC_forceCodeBlockLiveness: '1' } };

interface Entrant {
  readonly name: string;
  readonly program: Program;
  readonly model: string;
}

/** @returns a table of the CPU time of a request in µs, and of the memory at rest */
export async function sparseFigures(bench: Bench, { rounds, pauses }: SparsePlan): Promise<string> {
  const workload = workloadOf(JSON_200);
  const started: Program[] = [];
  const entrants: Entrant[] = [{ name: 'bare proxy', program: bench.floor, model: 'auto' }];
  // Each entrant has its own server, because requests of another entrant would warm up its code.
  const add = async (name: string, model: string, env: Readonly<Record<string, string>>) => {
    const program = await startWithPolicy(benchPolicy(bench.address), bench.key, env);
    started.push(program);
    entrants.push({ name, program, model });
  };
  for (const [suffix, env] of Object.entries(ENVIRONMENTS)) {
    await add(`named model${suffix}`, 'bench-model-3', env);
    await add(`\`auto\`${suffix}`, 'auto', env);
  }
  const send = ({ program, model }: Entrant, requests: number, inFlight: number) => {
    const bytes = httpBytes(program.port, '/v1/chat/completions', bench.key, { model, ...workload.fields });
    return run(program.port, bytesOf(bytes, 'own'), inFlight, requests);
  };
  for (const entrant of entrants) await send(entrant, WARM_UP, 64);
  const figures = new Map(entrants.map(({ name }) => [name, pauses.map((): number[] => [])]));
  const rest = new Map(entrants.map(({ name }) => [name, [] as number[]]));
  for (let round = -1; round < rounds; round++) {
    for (const [nth, pause] of pauses.entries()) {
      // The pause ends for all entrants at once, except for the time that the entrants before need.
      if (pause > 0) await Bun.sleep(pause * 1_000);
      for (let at = 0; at < entrants.length; at++) {
        const entrant = entrants[(at + round + 1) % entrants.length]!;
        if (pause === 0) await send(entrant, REQUESTS, IN_FLIGHT);
        const before = residentMiB(entrant.program.pid);
        const spent = cpuMeter(entrant.program.pid);
        await send(entrant, REQUESTS, IN_FLIGHT);
        if (round < 0) continue;
        figures.get(entrant.name)![nth]!.push(spent().all / REQUESTS);
        if (pause === Math.max(...pauses)) rest.get(entrant.name)!.push(before);
      }
    }
  }
  const rows = entrants.map(({ name }) => {
    const medians = figures.get(name)!.map((list) => median(list));
    const ratios = medians.map((cpu) => `${fixed(cpu, 0)} (${fixed(cpu / medians[0]!, 2)})`);
    return [name, ...ratios, fixed(median(rest.get(name)!), 0)];
  });
  await Promise.all(started.map((program) => program.stop()));
  const head = pauses.map((pause) => (pause === 0 ? 'no pause' : `after ${pause} s`));
  return table([['CPU µs of a request', ...head, 'RSS at rest, MiB'], ...rows]);
}
