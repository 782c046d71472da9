import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { layCable } from '../test/support/cable.ts';
import { type PostgresServer, startPostgres } from '../test/support/postgres.ts';
import { newKey, startSignalbox, startUpstream, temporaryFolder } from './gateways.ts';
import { run } from './load.ts';
import { occasion } from './page.ts';
import { benchPolicy, fullPolicy, governedPolicy } from './policy.ts';
import { cpuMicros, type Program, treeOf } from './process.ts';
import { fixed, median, quantile, table } from './stats.ts';
import { bytesOf, httpBytes, JSON_200, WORKLOADS } from './workload.ts';

/**
 * `npm run bench:servers`: compares the cost of a request on PostgreSQL and on SQLite, with whole servers that take turns within one run.
 * `processes`: one, two or four processes share a database that syncs each commit. `distance`: a process whose database is 0, 5, 30 and 80
 * ms away (round trip). `--quick`: a process on PostgreSQL is compared with SQLite, with 64 requests in flight. The name of a part runs
 * only this part. `--rounds N`; `--requests N` per round; `--upstream-ms N`: the time that the upstream takes. `--beside PATH` adds another
 * checkout with one process on PostgreSQL.
 *
 * If the upstream answers at once, more requests share a turn of the event loop with SQLite than with PostgreSQL, whose servers wait for
 * the database. Each entrant with PostgreSQL has its own database server.
 */
const flag = (name: string, usual: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? usual : Number(process.argv[at + 1]);
};
const text = (name: string): string => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? '' : (process.argv[at + 1] ?? '');
};
const ROUNDS = flag('rounds', 9);
const REQUESTS = flag('requests', 4_000);
const UPSTREAM_MS = flag('upstream-ms', 0);
const IS_QUICK = process.argv.includes('--quick');
const COUNTS = IS_QUICK ? [0, 1] : [0, 1, 2, 4];
const IN_FLIGHT = [64, 16, 1];
const ONLY = text('only');
const WORKLOAD = WORKLOADS.find(({ name }) => name.includes(text('workload') || JSON_200));
const WARM_UP = flag('warm-up', 20_000);
const BESIDE = text('beside');

interface Entrant {
  readonly name: string;
  readonly program: Program;
  readonly database: PostgresServer | null;
  readonly model: string;
  stop(): Promise<void>;
}

interface Round {
  readonly perSecond: number;
  /** CPU time in µs per request. */
  readonly servers: number;
  readonly database: number;
  readonly latencies: Float64Array;
}

interface Plan {
  readonly name: string;
  readonly policy: string;
  /** The model that requests name. */
  readonly model: string;
  /** 0 for SQLite. */
  readonly processes: number;
  /** The round-trip time to the database, in ms. */
  readonly awayMs?: number;
  /** The root of another checkout whose server runs. */
  readonly root?: string | undefined;
}

const key = newKey();

async function start({ name, policy, model, processes, awayMs = 0, root }: Plan): Promise<Entrant> {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'policy.yaml'), policy);
  const args = ['--data', join(folder, 'data'), '--policies', folder];
  if (processes === 0) {
    const program = await startSignalbox(args, key);
    return { name, program, database: null, model, stop: () => program.stop() };
  }
  const database = await startPostgres({ settings: { max_wal_size: '4GB' } });
  await database.create('bench');
  const cable = awayMs === 0 ? null : await layCable(database.port);
  if (cable) cable.delayMs = awayMs / 2;
  const port = cable?.port ?? database.port;
  const url = `postgres://signalbox@127.0.0.1:${port}/bench`;
  const more = processes > 1 ? ['--processes', String(processes)] : [];
  const program = await startSignalbox([...args, ...more], key, { DATABASE_URL: url }, root);
  return {
    ...{ name, program, database, model },
    async stop() {
      await program.stop();
      cable?.[Symbol.dispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

const micros = (pid: number): number => treeOf(pid).reduce((sum, one) => sum + cpuMicros(one), 0);

async function roundOf({ program, database, model }: Entrant, inFlight: number, requests: number): Promise<Round> {
  const body = { model, ...WORKLOAD?.fields };
  const bytes = bytesOf(httpBytes(program.port, '/v1/chat/completions', key, body), 'own');
  const cpu = () => [micros(program.pid), database?.pid ? micros(database.pid) : 0] as const;
  const before = cpu();
  const { latencies, seconds } = await run(program.port, bytes, inFlight, requests);
  const after = cpu();
  return {
    perSecond: requests / seconds,
    servers: (after[0] - before[0]) / requests,
    database: (after[1] - before[1]) / requests,
    latencies,
  };
}

/** Runs rounds of all entrants in turns. Another entrant begins each round. */
async function compared(
  entrants: readonly Entrant[],
  inFlight: number,
  requests: number,
  rounds: number,
): Promise<ReadonlyMap<string, readonly Round[]>> {
  const found = new Map<string, Round[]>(entrants.map(({ name }) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (let at = 0; at < entrants.length; at++) {
      const entrant = entrants[(at + round + 1) % entrants.length]!;
      const figures = await roundOf(entrant, inFlight, requests);
      if (round >= 0) found.get(entrant.name)!.push(figures);
    }
  }
  return found;
}

const latency = (rounds: readonly Round[], share: number): number =>
  quantile(Float64Array.from(rounds.flatMap(({ latencies }) => [...latencies])).sort(), share);

/** Returns the transactions of the database so far. The database counts them a second late at most while its connections are in use. */
async function commitsOf({ database }: Entrant): Promise<number> {
  if (!database) return 0;
  const [row] = await database.run(`SELECT xact_commit FROM pg_stat_database WHERE datname = 'bench'`, 'bench');
  return Number(row?.xact_commit);
}

async function processes(address: string): Promise<string> {
  const parts: string[] = [];
  const policies = [
    ['named, budgets', governedPolicy(address), 'bench-model-3'],
    ['`auto`', benchPolicy(address), 'auto'],
    ['full', fullPolicy(address), 'auto'],
  ] as const;
  for (const [name, policy, model] of policies.filter(([name]) => name.includes(ONLY))) {
    const entrants: Entrant[] = [];
    for (const count of COUNTS) {
      const name = count === 0 ? 'SQLite' : `PostgreSQL, ${count} process${count > 1 ? 'es' : ''}`;
      entrants.push(await start({ name, policy, model, processes: count }));
    }
    if (BESIDE)
      entrants.push(await start({ name: `PostgreSQL, ${BESIDE}`, policy, model, processes: 1, root: BESIDE }));
    try {
      for (const entrant of entrants) await roundOf(entrant, 64, WARM_UP);
      for (const inFlight of IN_FLIGHT) {
        const requests = inFlight === 1 ? Math.ceil(REQUESTS / 10) : REQUESTS;
        const committed = await Promise.all(entrants.map(commitsOf));
        const found = await compared(entrants, inFlight, requests, ROUNDS);
        const commits = await Promise.all(entrants.map(commitsOf));
        const alone = found.get('SQLite')!;
        const together = ({ servers, database }: Round) => servers + database;
        const rows = [...found].map(([name, rounds], nth) => {
          const of = (figure: (round: Round) => number) => median(rounds.map(figure));
          const ratio = (figure: (round: Round) => number) =>
            median(rounds.map((round, at) => figure(round) / figure(alone[at]!)));
          const added = (share: number) => latency(rounds, share) - latency(alone, share);
          const perRequest = (commits[nth]! - committed[nth]!) / (requests * (ROUNDS + 1));
          return [
            name,
            fixed(
              of(({ perSecond }) => perSecond),
              0,
            ),
            fixed(
              of(({ servers }) => servers),
              0,
            ),
            fixed(
              ratio(({ servers }) => servers),
              2,
            ),
            fixed(
              of(({ database }) => database),
              0,
            ),
            fixed(of(together), 0),
            fixed(ratio(together), 2),
            entrants[nth]!.database ? fixed(perRequest, 2) : '–',
            ...[fixed(latency(rounds, 0.5), 2), fixed(latency(rounds, 0.99), 2)],
            ...[fixed(added(0.5), 2), fixed(added(0.99), 2)],
          ];
        });
        const head = [
          'requests/s',
          'µs CPU',
          'ratio',
          'µs CPU of the database',
          'µs CPU together',
          'ratio together',
          'transactions',
          'p50 ms',
          'p99 ms',
          'p50 added',
          'p99 added',
        ];
        parts.push(table([[`${name}, ${inFlight} in flight`, ...head], ...rows]));
        console.error(`${parts.at(-1)}\n`);
      }
    } finally {
      for (const entrant of entrants) await entrant.stop();
    }
  }
  return parts.join('\n\n');
}

async function distance(address: string): Promise<string> {
  const policy = fullPolicy(address);
  const entrants = [await start({ name: 'SQLite', policy, model: 'auto', processes: 0 })];
  for (const awayMs of [0, 5, 30, 80]) {
    entrants.push(await start({ name: `${awayMs} ms away`, policy, model: 'auto', processes: 1, awayMs }));
  }
  try {
    for (const entrant of entrants) await roundOf(entrant, 64, WARM_UP / 4);
    const one = await compared(entrants, 1, 60, Math.ceil(ROUNDS / 3));
    const many = await compared(entrants, 64, Math.ceil(REQUESTS / 4), Math.ceil(ROUNDS / 3));
    const rows = entrants.map(({ name }) => [
      name,
      ...[one, many].flatMap((found) => [0.5, 0.99].map((share) => fixed(latency(found.get(name)!, share), 1))),
      fixed(median(many.get(name)!.map(({ perSecond }) => perSecond)), 0),
    ]);
    const head = ['a request, ms', 'p50, 1 in flight', 'p99', 'p50, 64 in flight', 'p99', 'requests/s'];
    return table([head, ...rows]);
  } finally {
    for (const entrant of entrants) await entrant.stop();
  }
}

const upstream = await startUpstream(UPSTREAM_MS);
const address = `http://127.0.0.1:${upstream.port}/v1`;
const parts = { processes, distance };
console.log(`${occasion()}, ${ROUNDS} interleaved rounds of ${REQUESTS} requests, an upstream of ${UPSTREAM_MS} ms\n`);
for (const [name, part] of Object.entries(parts)) {
  const isAlone = Object.keys(parts).some((one) => process.argv.includes(one));
  if (isAlone && !process.argv.includes(name)) continue;
  console.log(`${await part(address)}\n`);
}
await upstream.stop();
process.exit();
