import { cpus } from 'node:os';
import { newKey, startUpstream, startWithPolicy } from './gateways.ts';
import { run } from './load.ts';
import { benchPolicy } from './policy.ts';
import { cpuMeter, type Program } from './process.ts';
import { fixed, median, table } from './stats.ts';
import { httpBytes, SESSIONS, sessionRequests } from './workload.ts';

/**
 * `bun bench/guards.ts [--quick]`: the CPU time of a request that a pure guard inspects, as a ratio to a server without guards, for the first
 * turn of a conversation and for later turns. Each guard has its own server, and the servers take turns.
 */
const quick = process.argv.includes('--quick');
const ROUNDS = quick ? 3 : 15;
/** Rounds that are not measured, in which the servers compile their code. */
const WARM_UP = quick ? 1 : 3;
/** The number of later turns in a round, of all conversations together. */
const LATER = (quick ? 8 : 20) * SESSIONS;
const SIZES = [2, 100, 300];
const IN_FLIGHT = 4;

const WORDS = Array.from({ length: 1_000 }, (_, at) => `project ${(at * 7919).toString(36)}`);
const GUARDS: Readonly<Record<string, string>> = {
  '`secrets`': '{ guard: secrets }',
  '`secrets` with `entropy`': '{ guard: secrets, settings: { entropy: true } }',
  '`personal-data`': '{ guard: personal-data }',
  '`words` with 1,000 texts': `{ guard: words, settings: { deny: ${JSON.stringify(WORDS)} } }`,
  '`words` with a pattern': '{ guard: words, settings: { patterns: ["(?i)project [a-z]+-[0-9]+"] } }',
  '`size`': '{ guard: size, settings: { characters: 10000000 } }',
  '`language`': '{ guard: language, settings: { scripts: [latin] } }',
};

interface Entrant {
  readonly name: string;
  readonly program: Program;
}

const key = newKey();
const upstream = await startUpstream();
const policy = benchPolicy(`http://127.0.0.1:${upstream.port}/v1`);
const startOne = async (name: string, more = ''): Promise<Entrant> => ({
  name,
  program: await startWithPolicy(policy + more, key),
});
const entrants = [await startOne('no guard, µs')];
for (const [name, guard] of Object.entries(GUARDS)) {
  const item = guard.replace('{ ', '{ name: bench, on_match: flag, deadline_ms: 60000, ');
  entrants.push(await startOne(name, `guards:\n  - ${item}\n`));
}

/** Returns the CPU time per request of the first turn and of later turns of conversations, in µs. */
async function sample({ program: { pid, port } }: Entrant, size: number): Promise<readonly [number, number]> {
  const workload = { name: '', stream: false, fields: { messages: [] }, requests: 0, sessionBytes: size * 1_000 };
  const toBytes = (body: object) => httpBytes(port, '/v1/chat/completions', key, body);
  const next = sessionRequests(workload, toBytes, 'bench-model-0');
  const spentBy = async (requests: number): Promise<number> => {
    const spent = cpuMeter(pid);
    await run(port, next, IN_FLIGHT, requests);
    return spent().all / requests;
  };
  const first = await spentBy(SESSIONS);
  // The second turn reads its messages for the turns that follow.
  await spentBy(SESSIONS);
  return [first, await spentBy(LATER)];
}

const times = new Map(entrants.map((entrant) => [entrant, SIZES.map(() => [[], []] as [number[], number[]])]));
for (let round = -WARM_UP; round < ROUNDS; round++)
  for (const [at, size] of SIZES.entries())
    for (const entrant of entrants) {
      const [first, later] = await sample(entrant, size);
      if (round < 0) continue;
      const [firsts, laters] = times.get(entrant)![at]!;
      firsts.push(first);
      laters.push(later);
    }

const rows = [['guard', ...SIZES.flatMap((size) => [`${size} KB, first turn`, 'later turns'])]];
const medians = entrants.map((entrant) => times.get(entrant)!.flat().map(median));
for (const [at, { name }] of entrants.entries())
  rows.push([
    name,
    ...medians[at]!.map((one, column) => (at === 0 ? fixed(one, 0) : fixed(one / medians[0]![column]!, 2))),
  ]);
console.log(`${cpus()[0]?.model}, ${cpus().length} cores, Bun ${Bun.version}, ${ROUNDS} rounds\n\n${table(rows)}`);
await Promise.all([upstream, ...entrants.map(({ program }) => program)].map((one) => one.stop()));
process.exit(0);
