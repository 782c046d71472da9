import { cpus } from 'node:os';
import type { Socket } from 'bun';
import { newKey, startUpstream, startWithPolicy } from './gateways.ts';
import { requestBytes, type Shape } from './load.ts';
import { benchPolicy } from './policy.ts';
import { cpuMicros, type Program } from './process.ts';
import { fixed, median, quantile, table } from './stats.ts';

/**
 * `npm run bench:shed`: measures how many requests are served under overload. Clients that send one request after the other arrive in one,
 * two and four times the number that the server can serve in parallel. Clients that get a 503 retry after the time in its `retry-after-ms`
 * header, as SDKs do, or (`at once`) without a pause. Rounds take turns. `--quick` gives a rough result.
 */
const quick = process.argv.includes('--quick');
const ROUNDS = quick ? 3 : 7;
const ROUND_MS = quick ? 2_000 : 4_000;
const WARM_UP_MS = quick ? 4_000 : 8_000;

const PLACES = 32;
const LINE = 16;
const SHAPE: Shape = { name: 'JSON, 200 B', stream: false, promptChars: 200 };

interface Setting {
  readonly name: string;
  readonly clients: number;
  readonly waits: boolean;
}

const SETTINGS: readonly Setting[] = [
  { name: '1 ×', clients: PLACES, waits: true },
  { name: '2 ×', clients: 2 * PLACES, waits: true },
  { name: '4 ×', clients: 4 * PLACES, waits: true },
  { name: '4 ×, at once', clients: 4 * PLACES, waits: false },
];

interface Round {
  readonly servedPerSecond: number;
  readonly refusedPerSecond: number;
  /** The gateway's CPU time in µs per served request, including the time for refused requests. */
  readonly cpu: number;
  /** The latencies of served requests in ms, in ascending order. */
  readonly served: Float64Array;
  readonly refused: Float64Array;
}

interface Client {
  sentAt: number;
  head: string;
  /** The number of bytes that are still to come; negative while the head is incomplete. */
  left: number;
  status: number;
  pauseMs: number;
}

/** Lets the clients send requests for the given time. */
async function round(program: Program, bytes: Uint8Array, { clients, waits }: Setting, ms: number): Promise<Round> {
  const served: number[] = [];
  const refused: number[] = [];
  const before = cpuMicros(program.pid);
  const until = performance.now() + ms;
  const send = (socket: Socket<Client>) => {
    if (performance.now() >= until) {
      socket.end();
      return;
    }
    socket.data = { sentAt: performance.now(), head: '', left: -1, status: 0, pauseMs: 0 };
    socket.write(bytes);
  };
  const ended = Promise.withResolvers<void>();
  let open = clients;
  const handlers = {
    open: send,
    data(socket: Socket<Client>, data: Uint8Array) {
      const { data: client } = socket;
      if (!isWhole(client, data)) return;
      (client.status === 200 ? served : refused).push(performance.now() - client.sentAt);
      if (client.status === 200 || !waits) send(socket);
      else setTimeout(send, Math.min(client.pauseMs, Math.max(0, until - performance.now())), socket);
    },
    close() {
      if (--open === 0) ended.resolve();
    },
  };
  const data: Client = { sentAt: 0, head: '', left: -1, status: 0, pauseMs: 0 };
  for (let i = 0; i < clients; i++) {
    Bun.connect<Client>({ hostname: '127.0.0.1', port: program.port, data: { ...data }, socket: handlers }).catch(
      ended.reject,
    );
  }
  await ended.promise;
  return {
    servedPerSecond: (served.length * 1_000) / ms,
    refusedPerSecond: (refused.length * 1_000) / ms,
    cpu: (cpuMicros(program.pid) - before) / served.length,
    served: Float64Array.from(served).sort(),
    refused: Float64Array.from(refused).sort(),
  };
}

/** Adds received bytes; returns true once the answer is complete. */
function isWhole(client: Client, data: Uint8Array): boolean {
  let from = 0;
  if (client.left < 0) {
    client.head += Buffer.from(data).toString('latin1');
    const end = client.head.indexOf('\r\n\r\n');
    if (end < 0) return false;
    client.status = Number(client.head.slice(9, 12));
    if (client.status !== 200 && client.status !== 503) throw new Error(client.head);
    client.pauseMs = Number(/retry-after-ms: (\d+)/i.exec(client.head)?.[1] ?? 0);
    client.left = Number(/content-length: (\d+)/i.exec(client.head)?.[1]);
    from = data.length - (client.head.length - end - 4);
  }
  client.left -= data.length - from;
  return client.left <= 0;
}

async function main(): Promise<void> {
  const upstream = await startUpstream();
  const key = newKey();
  const bounds = `gateway: { concurrency_max: ${PLACES}, queue_max: ${LINE}, queue_ms: 1000 }\n`;
  const signalbox = await startWithPolicy(benchPolicy(`http://127.0.0.1:${upstream.port}/v1`) + bounds, key);
  try {
    const bytes = requestBytes(SHAPE, signalbox.port, key);
    await round(signalbox, bytes, SETTINGS[0]!, WARM_UP_MS);
    const rounds = SETTINGS.map((): Round[] => []);
    for (let i = 0; i < ROUNDS; i++) {
      for (const [at, setting] of SETTINGS.entries()) {
        rounds[at]!.push(await round(signalbox, bytes, setting, ROUND_MS));
      }
    }
    const how = `${cpus().length} cores (${cpus()[0]!.model}), Bun ${Bun.version}, ${PLACES} places, a line of ${LINE}, ${ROUNDS} interleaved rounds of ${ROUND_MS / 1_000} s, medians.`;
    process.stdout.write(`${how}\n\n${table(rowsOf(rounds))}\n`);
  } finally {
    await Promise.all([upstream.stop(), signalbox.stop()]);
  }
}

const HEAD = [
  'clients',
  '',
  'served/s',
  'of the peak',
  'p50 ms',
  'p99 ms',
  'µs CPU',
  '503/s',
  '503 p50 ms',
  '503 p99 ms',
];

function rowsOf(rounds: readonly (readonly Round[])[]): string[][] {
  const goodput = rounds.map((list) => median(list.map(({ servedPerSecond }) => servedPerSecond)));
  // Results are compared within each turn, because the machine's speed differs between turns.
  const best = rounds[goodput.indexOf(Math.max(...goodput))]!;
  const rows = rounds.map((list, at) => {
    const share = median(list.map((one, turn) => one.servedPerSecond / best[turn]!.servedPerSecond));
    const of = (pick: (one: Round) => number) => median(list.map(pick));
    const time = (which: 'served' | 'refused', share: number) =>
      list.every((one) => one[which].length === 0) ? '–' : fixed(of((one) => quantile(one[which], share)));
    return [
      String(SETTINGS[at]!.clients),
      SETTINGS[at]!.name,
      fixed(goodput[at]!, 0),
      `${fixed(100 * share, 0)} %`,
      time('served', 0.5),
      time('served', 0.99),
      fixed(of(({ cpu }) => cpu)),
      fixed(
        of(({ refusedPerSecond }) => refusedPerSecond),
        0,
      ),
      time('refused', 0.5),
      time('refused', 0.99),
    ];
  });
  return [HEAD, ...rows];
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
});
