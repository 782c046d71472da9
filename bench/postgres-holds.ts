import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FundRef } from '../src/core/accounting/fund.ts';
import { idAt } from '../src/core/id.ts';
import { processTimers } from '../src/host/telemetry/process-timers.ts';
import type { LedgerBooks, LedgerOp } from '../src/store/books.ts';
import { openPostgresBooks } from '../src/store/postgres/books/books.ts';
import { openPostgres } from '../src/store/postgres/store.ts';
import { sqlIdempotency } from '../src/store/sql/idempotency.ts';
import { fundOf, holdOf, settleOf } from '../test/store/suites/books.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { layTables } from '../test/support/shared-postgres.ts';
import { treeMeter } from './process.ts';
import { fixed, median, quantile, table } from './stats.ts';

/**
 * `npm run bench:postgres`: measures how many holds per second several processes book in one PostgreSQL database, all on the same three
 * funds. The benchmark starts its own PostgreSQL server, which syncs each commit. Ways: `holds`; `short`, in which the funds have little
 * left, so that holds get a part or nothing; `settled`, each hold with its settlement (two decisions); `claimed`, like `settled`, but the
 * hold's commit also contains the claim of an idempotency key. `--processes N`, `--seconds N`, `--in-flight 32,128`, `--only settled`.
 */
const flag = (name: string, usual: string): string => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? usual : process.argv[at + 1]!;
};
const WAYS = ['holds', 'short', 'settled', 'claimed'] as const;
type Way = (typeof WAYS)[number];

/** The task that a process receives. */
interface Task {
  readonly url: string;
  readonly slot: number;
  readonly way: Way;
  readonly inFlight: number;
  readonly seconds: number;
}

/** The result that a process reports. */
interface Finding {
  readonly decisions: number;
  readonly granted: number;
  readonly charged: number;
  readonly cpuS: number;
  /** The latencies of holds in ms, in ascending order. */
  readonly latencies: readonly number[];
}

const LIMITS: Readonly<Record<Way, number>> = { holds: 1e13, short: 5e7, settled: 1e13, claimed: 1e13 };
const fundsFor = (way: Way): readonly FundRef[] => ['all', 'team', 'user'].map((name) => fundOf(LIMITS[way], name));
const partly = (op: LedgerOp): LedgerOp => (op.kind === 'hold' ? { ...op, least: 100, ample: 500 } : op);

async function work({ url, slot, way, inFlight, seconds }: Task): Promise<Finding> {
  const store = await openPostgres({ url });
  const database = store.deciding();
  const clock = () => performance.now();
  const books = await openPostgresBooks({ db: database, timers: processTimers, clock, instance: { slot, epoch: 1 } });
  const funds = fundsFor(way);
  const { claim } = sqlIdempotency(store);
  const bytes = (id: number) => new TextEncoder().encode(`${id}`.padStart(32, '0'));
  const claimOf = (id: number) => {
    const row = { name: bytes(id), state: 'running', decision: id, earlier: null, losses: 0, time: id } as const;
    const seal = { salt: bytes(id), verifier: bytes(id), body: bytes(id), answer: null };
    return [claim({ ...row, ...seal, owner: { slot, epoch: 1 } }, null)];
  };
  let id = idAt(Date.now()) + slot;
  let end = Number.POSITIVE_INFINITY;
  const found = { decisions: 0, granted: 0, charged: 0, cpuS: 0, latencies: [] as number[] };
  const one = async (books: LedgerBooks) => {
    id += 128;
    const own = id;
    const began = performance.now();
    const also = way === 'claimed' ? claimOf(own) : [];
    const [hold] = await books.apply([partly(holdOf(own, funds, 2_000, 3_000))], also);
    found.latencies.push(performance.now() - began);
    found.decisions++;
    if (hold?.kind !== 'granted') return;
    found.granted += hold.amount;
    if (way === 'holds' || way === 'short') return;
    const [settled] = await books.append([settleOf(own, 700)]);
    found.decisions++;
    if (settled?.kind === 'charged') found.charged += settled.charged;
  };
  await one(books);
  console.log('ready');
  await Bun.stdin.stream().getReader().read();
  found.latencies.length = 0;
  const [before, cpu] = [found.decisions, process.cpuUsage()];
  end = performance.now() + seconds * 1_000;
  const flow = async () => {
    while (performance.now() < end) await one(books);
  };
  await Promise.all(Array.from({ length: inFlight }, flow));
  const { user, system } = process.cpuUsage(cpu);
  books.close();
  await database.close();
  await store.close();
  return {
    ...found,
    decisions: found.decisions - before,
    cpuS: (user + system) / 1e6,
    latencies: found.latencies.sort((a, b) => a - b),
  };
}

/** Starts a process for each slot, lets them begin together, and collects their results. */
async function measure(url: string, way: Way, inFlight: number): Promise<readonly Finding[]> {
  const children = Array.from({ length: PROCESSES }, (_, at) => {
    const task: Task = { url, slot: at + 1, way, inFlight, seconds: SECONDS };
    const args = [process.execPath, import.meta.path, '--task', JSON.stringify(task)];
    return Bun.spawn(args, { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' });
  });
  const readers = children.map(({ stdout }) => stdout.pipeThrough(new TextDecoderStream()).getReader());
  for (const reader of readers) await reader.read();
  for (const { stdin } of children) {
    stdin.write('go\n');
    await stdin.flush();
  }
  return Promise.all(
    readers.map(async (reader) => {
      let text = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return JSON.parse(text);
        text += value;
      }
    }),
  );
}

/** Returns the time of a sync of the disk, in ms. */
function syncMs(): number {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-sync-'));
  const file = openSync(join(folder, 'file'), 'w');
  const times = Array.from({ length: 200 }, () => {
    writeSync(file, new Uint8Array(8_192));
    const began = performance.now();
    fdatasyncSync(file);
    return performance.now() - began;
  });
  closeSync(file);
  rmSync(folder, { recursive: true });
  return median(times);
}

const PROCESSES = Number(flag('processes', '3'));
const SECONDS = Number(flag('seconds', '5'));

async function main(): Promise<void> {
  const rows: string[][] = [];
  for (const way of flag('only', WAYS.join(',')).split(',') as Way[]) {
    for (const inFlight of flag('in-flight', '32,128').split(',').map(Number)) {
      await using server = await startPostgres({ settings: { max_wal_size: '4GB' } });
      await server.create('bench');
      const url = server.urlOf('bench');
      await layTables(url);
      await server.run(
        `INSERT INTO instances (slot, epoch, until, ids_through, is_released)
          SELECT slot, 1, 9007199254740991, 0, 0 FROM generate_series(1, 100) AS slot`,
        'bench',
      );
      const spent = treeMeter(server.pid === undefined ? [] : [server.pid]);
      const found = await measure(url, way, inFlight);
      const databaseMicros = spent();
      const sum = (of: (one: Finding) => number) => found.reduce((all, one) => all + of(one), 0);
      const funds = await server.run('SELECT most, spent, held FROM funds', 'bench');
      const took = way === 'holds' || way === 'short' ? sum(({ granted }) => granted) : sum(({ charged }) => charged);
      for (const { most, spent, held } of funds) {
        const all = Number(spent) + Number(held);
        if (all !== took || all > Number(most)) throw new Error(`told ${took}, and booked ${all} of ${most}`);
      }
      const latencies = found.flatMap((one) => one.latencies).sort((a, b) => a - b);
      const perSecond = sum(({ decisions }) => decisions) / SECONDS;
      const figures = [
        Math.round(perSecond).toLocaleString('en'),
        fixed(quantile(latencies, 0.5)),
        fixed(quantile(latencies, 0.99)),
        fixed((1e6 * sum(({ cpuS }) => cpuS)) / sum(({ decisions }) => decisions)),
        fixed(databaseMicros / sum(({ decisions }) => decisions)),
      ];
      rows.push([way, String(inFlight), ...figures, fixed(syncMs(), 2)]);
      console.error(rows.at(-1)!.join(' | '));
    }
  }
  const head = [
    'way',
    'in flight, each',
    'decisions/s',
    'p50 ms',
    'p99 ms',
    'µs CPU of the process',
    'µs CPU of the database',
    'sync ms',
  ];
  console.log(`${PROCESSES} processes, ${SECONDS} s each\n\n${table([head, ...rows])}`);
}

if (process.argv.includes('--task')) {
  console.log(JSON.stringify(await work(JSON.parse(flag('task', '')))));
  process.exit();
} else await main();
