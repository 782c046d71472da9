import { type Bench, startBench } from './gateways.ts';
import { run } from './load.ts';
import { type Program, residentMiB } from './process.ts';
import { fixed, median, quantile, table } from './stats.ts';
import { AT_ONCE, bytesOf, httpBytes, promptText } from './workload.ts';

/**
 * The workloads with which the authors of GoModel, a gateway in Go, measure it: 10 requests in flight to an instant upstream, in three
 * dialects, each with and without streaming. The result names the workloads that Signalbox does not serve.
 */
const IN_FLIGHT = 10;
/** The published latencies are for chat without streaming, the rate is at saturation, and the memory is the peak. */
const PUBLISHED = ['GoModel, as published: chat', '1.8', '6.9', '4,900', '37'];
const HEAD = ['10 in flight', 'p50 ms', 'p99 ms', 'requests a second', 'RSS MiB'];

const text = `${AT_ONCE} ${promptText(200)}`;
const messages = [{ role: 'user', content: text }];
const DIALECTS = [
  { name: 'chat', path: '/v1/chat/completions', fields: { messages } },
  { name: 'Responses', path: '/v1/responses', fields: { input: text } },
  { name: 'Messages', path: '/v1/messages', fields: { max_tokens: 400, messages } },
] as const;
type Dialect = (typeof DIALECTS)[number];

export interface YardstickPlan {
  readonly rounds: number;
  /** The number of requests per round. */
  readonly requests: number;
  readonly warmUp: number;
}

/** @returns a table, the published row last */
export async function yardstick(plan: YardstickPlan): Promise<string> {
  const bench = await startBench();
  try {
    const rows: string[][] = [];
    for (const dialect of DIALECTS) {
      const isServed = await serves(bench, dialect);
      for (const stream of [false, true]) {
        const name = `${dialect.name}${stream ? ', stream' : ''}`;
        if (!isServed) rows.push([`${name}: not served`, '–', '–', '–', '–']);
        else rows.push(...(await rowsOf(bench, dialect, stream, name, plan)));
      }
    }
    return table([HEAD, ...rows, PUBLISHED]);
  } finally {
    await bench.stop();
  }
}

async function serves({ signalbox, key }: Bench, { path, fields }: Dialect): Promise<boolean> {
  const { status } = await fetch(`http://127.0.0.1:${signalbox.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'auto', ...fields }),
  });
  return status !== 404;
}

/** Returns the rows of Signalbox and, if it supports the dialect, of the floor, measured in turns. */
async function rowsOf(bench: Bench, dialect: Dialect, stream: boolean, name: string, plan: YardstickPlan) {
  const lane = (title: string, program: Program) => {
    const body = { model: 'auto', ...dialect.fields, ...(stream && { stream: true }) };
    const next = bytesOf(httpBytes(program.port, dialect.path, bench.key, body), 'own');
    return { title, program, next, p50: [] as number[], p99: [] as number[], perSecond: [] as number[] };
  };
  const lanes = [
    lane(name, bench.signalbox),
    ...(dialect.name === 'chat' ? [lane(`${name}: the floor`, bench.floor)] : []),
  ];
  for (const { program, next } of lanes) await run(program.port, next, IN_FLIGHT, plan.warmUp);
  for (let round = 0; round < plan.rounds; round++) {
    for (const { program, next, p50, p99, perSecond } of lanes) {
      const { latencies, seconds } = await run(program.port, next, IN_FLIGHT, plan.requests);
      p50.push(quantile(latencies, 0.5));
      p99.push(quantile(latencies, 0.99));
      perSecond.push(plan.requests / seconds);
    }
  }
  return lanes.map(({ title, program, p50, p99, perSecond }) => [
    title,
    fixed(median(p50), 2),
    fixed(median(p99), 2),
    fixed(median(perSecond), 0),
    fixed(residentMiB(program.pid), 0),
  ]);
}
