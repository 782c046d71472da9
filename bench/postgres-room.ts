import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startFakeUpstream } from '../test/support/fake-upstream.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { newKey, startSignalbox, temporaryFolder } from './gateways.ts';
import { fullPolicy } from './policy.ts';
import { fixed, table } from './stats.ts';

/**
 * `bun bench/postgres-room.ts [REQUESTS]`: measures the space that a request takes in PostgreSQL, by table with its indexes, and in the
 * write-ahead log. The benchmark takes a minute with the default of 20,000 requests: two servers, 64 in flight, and a policy that uses
 * every feature.
 */
const REQUESTS = Number(process.argv[2] ?? 20_000);
const AT_ONCE = 64;
const SECONDS_A_YEAR = 365 * 86_400;
/** The number of days for which rows of holds are kept. */
const WEEK_DAYS = 7;

await using postgres = await startPostgres({ settings: { max_wal_size: '4GB' } });
await postgres.create('room');
const upstream = startFakeUpstream({});
const folder = temporaryFolder();
const key = newKey();
writeFileSync(join(folder, 'policy.yaml'), fullPolicy(upstream.url));
const env = { DATABASE_URL: postgres.urlOf('room') };
const start = (name: string) => startSignalbox(['--data', join(folder, name), '--policies', folder], key, env);
const servers = [await start('one'), await start('two')];

async function ask(at: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${servers[at % servers.length]!.port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'auto',
      max_tokens: 200,
      messages: [{ role: 'user', content: `Explain step ${at} of this proof in plain words.` }],
    }),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
  await answer.text();
}

async function askMany(count: number): Promise<void> {
  let sent = 0;
  const client = async () => {
    while (sent < count) await ask(sent++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
}

/** Returns the bytes by table. Partitions count with their parent table. */
async function look(): Promise<{ bytes: Map<string, number>; log: number }> {
  const rows = await postgres.run(
    `SELECT coalesce(i.inhparent::regclass::text, c.relname) AS name, sum(pg_total_relation_size(c.oid))::text AS bytes
      FROM pg_class AS c LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid
      WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace GROUP BY 1`,
    'room',
  );
  const [log] = await postgres.run(`SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text AS bytes`, 'room');
  return { bytes: new Map(rows.map(({ name, bytes }) => [String(name), Number(bytes)])), log: Number(log!.bytes) };
}

await askMany(500);
const before = await look();
await askMany(REQUESTS);
// Records, sums and counts are written after the answers.
await Bun.sleep(5_000);
const after = await look();
const grown = [...after.bytes]
  .map(([name, bytes]) => [name, (bytes - (before.bytes.get(name) ?? 0)) / REQUESTS] as const)
  .filter(([, bytes]) => bytes > 0.5)
  .sort(([, a], [, b]) => b - a);
const sumOf = (names: readonly string[]) =>
  grown.filter(([name]) => names.includes(name)).reduce((sum, [, bytes]) => sum + bytes, 0);
const records = sumOf(['records', 'record_index', 'record_labels', 'decisions']);
const week = sumOf(['holds', 'examples']);
const log = (after.log - before.log) / REQUESTS;
console.log(table([['table', 'bytes a request'], ...grown.map(([name, bytes]) => [name, fixed(bytes, 0)])]));
console.log(`log of writes: ${fixed(log, 0)} bytes a request\n`);
const rest = grown.reduce((sum, [, bytes]) => sum + bytes, 0) - records - week;
const gigabytes = (bytes: number) => fixed(bytes / 1e9, 1);
console.log(
  table([
    ['requests a second, mean', 'stays, GB a year', 'records, 30 days', 'holds, 7 days', 'log, GB a day'],
    ...[1, 10, 100, 1_000].map((rate) => [
      String(rate),
      gigabytes(rate * SECONDS_A_YEAR * rest),
      gigabytes(rate * 30 * 86_400 * records),
      gigabytes(rate * WEEK_DAYS * 86_400 * week),
      gigabytes(rate * 86_400 * log),
    ]),
  ]),
);
for (const server of servers) await server.stop();
await upstream.stop();
process.exit(0);
