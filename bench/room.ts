import { Database } from 'bun:sqlite';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startFakeUpstream } from '../test/support/fake-upstream.ts';
import { newKey, startSignalbox, temporaryFolder } from './gateways.ts';
import { benchPolicy } from './policy.ts';
import { residentMiB } from './process.ts';
import { fixed, table } from './stats.ts';

/**
 * `bun bench/room.ts`: measures the space that a server needs: bytes of the database for each request, and memory and file descriptors at
 * rest, with open streams, with incoming bodies, and of an idle connection. The benchmark takes a minute.
 */
const REQUESTS = 3_000;
const AT_ONCE = 32;
// Bun runs at most 256 requests in parallel.
const STREAMS = 192;
const BODIES = 192;
const CONNECTIONS = 4_000;
const BODY_BYTES = 100 * 1024;

const folder = temporaryFolder();
const data = join(folder, 'data');
const file = join(data, 'signalbox.db');
const key = newKey();

const upstream = startFakeUpstream({
  behaviour: ({ body }) => (body.stream ? { text: ['One', ' two', ' three'], hang: 2 } : {}),
});
writeFileSync(join(folder, 'policy.yaml'), benchPolicy(upstream.url));

const start = () => startSignalbox(['--data', data, '--policies', folder], key);

let server = await start();

async function ask(body: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<Response> {
  const answer = await fetch(`http://127.0.0.1:${server.port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'auto', max_tokens: 200, ...body }),
    signal,
  });
  if (answer.status !== 200) throw new Error(await answer.text());
  return answer;
}

const question = (text: string) => ({ messages: [{ role: 'user', content: text }] });
const descriptors = (): number => readdirSync(`/proc/${server.pid}/fd`).length;

/** Returns the bytes by table with its indexes, of a database that is not being written. */
function bytesByTable(): Map<string, number> {
  using db = new Database(file, { readonly: true });
  const rows = db
    .query<{ name: string; bytes: number }, []>(
      `SELECT tbl_name AS name, sum(pgsize) AS bytes FROM dbstat JOIN sqlite_schema USING (name) GROUP BY tbl_name`,
    )
    .all();
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}

async function disk(): Promise<string> {
  await server.stop();
  const before = bytesByTable();
  server = await start();
  let sent = 0;
  const client = async () => {
    while (sent < REQUESTS) await (await ask(question(`Explain step ${++sent} of this proof in plain words.`))).text();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  const log = statSync(`${file}-wal`).size;
  await server.stop();
  const rows = [...bytesByTable()].map(
    ([name, bytes]) => [name, (bytes - (before.get(name) ?? 0)) / REQUESTS] as const,
  );
  const grown = rows.filter(([, bytes]) => bytes > 1).sort(([, a], [, b]) => b - a);
  const all = rows.reduce((sum, [, bytes]) => sum + bytes, 0);
  server = await start();
  return `${table([
    ['table', 'bytes a request'],
    ...grown.map(([name, bytes]) => [name, fixed(bytes, 0)]),
    ['all', fixed(all, 0)],
  ])}\nwrite-ahead log during the run: ${fixed(log / 1e6, 1)} MB\n`;
}

/** Opens connections that send one request and then stay silent. */
async function openConnections(count: number): Promise<Bun.Socket[]> {
  const { port } = server;
  const asked = `GET /v1/models HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\n\r\n`;
  const sockets: Bun.Socket[] = [];
  while (sockets.length < count) {
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    sockets.push(
      await Bun.connect({
        hostname: '127.0.0.1',
        port,
        socket: { open: (socket) => void socket.write(asked), data: () => resolve() },
      }),
    );
    await answered;
  }
  return sockets;
}

/** Returns the memory of an idle connection, in KiB. */
async function idle(): Promise<number> {
  // The first connections leave memory in use that must exist before the measurement.
  for (const socket of await openConnections(CONNECTIONS)) socket.end();
  const before = await look();
  const sockets = await openConnections(CONNECTIONS);
  const after = await look();
  for (const socket of sockets) socket.end();
  return ((after.memory - before.memory) * 1024) / CONNECTIONS;
}

/** Returns the memory now, and again after a moment in which unused memory may be collected. */
const look = async () => {
  await Bun.sleep(3_000);
  return { memory: residentMiB(server.pid), open: descriptors() };
};

async function memory(): Promise<string> {
  const rest = await look();
  const leave = new AbortController();
  const streams: Response[] = [];
  for (let i = 0; i < STREAMS; i += AT_ONCE) {
    const some = Array.from({ length: AT_ONCE }, () => ask({ ...question('Count.'), stream: true }, leave.signal));
    streams.push(...(await Promise.all(some)));
  }
  const streaming = await look();
  leave.abort();
  const later = await look();
  const body = question('x '.repeat(BODY_BYTES / 2));
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, residentMiB(server.pid));
  }, 5);
  await Promise.all(Array.from({ length: BODIES }, async () => (await ask(body)).text()));
  clearInterval(watch);
  const perStream = ((streaming.memory - rest.memory) * 1024) / streams.length;
  return table([
    ['', 'memory MiB', 'descriptors'],
    ['at rest', fixed(rest.memory, 0), String(rest.open)],
    [`${streams.length} open streams`, fixed(streaming.memory, 0), String(streaming.open)],
    ['a stream', `${fixed(perStream, 0)} KiB`, fixed((streaming.open - rest.open) / streams.length, 1)],
    ['after them', fixed(later.memory, 0), String(later.open)],
    [`${BODIES} bodies of ${BODY_BYTES / 1024} KiB at once, at most`, fixed(peak, 0), ''],
  ]);
}

console.log(readFileSync('/proc/cpuinfo', 'utf8').match(/model name\s*: (.*)/)?.[1] ?? '');
console.log(await disk());
console.log(await memory());
console.log(`an idle connection: ${fixed(await idle())} KiB`);
await server.stop();
await upstream.stop();
process.exit(0);
