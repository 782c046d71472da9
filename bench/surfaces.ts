import { newKey, startFloor, startUpstream, startWithPolicy } from './gateways.ts';
import { type Requests, run } from './load.ts';
import { benchPolicy } from './policy.ts';
import { cpuMicros, type Program } from './process.ts';
import { fixed, lowerQuartile, table } from './stats.ts';
import { messagesFields, responsesFields } from './surface-bodies.ts';
import { bytesOf, type ChatFields, httpBytes, WORKLOADS, type Workload } from './workload.ts';

/**
 * The cost of a request in each dialect, with models of a provider of the same dialect. Messages and Responses are passed on unchanged;
 * chat completions are written again. Each dialect has its own floor, because the answers of the dialects differ in length.
 */
export interface SurfacePlan {
  readonly rounds: number;
  /** The number of requests that each server answers first. */
  readonly warmUp: number;
}

const IN_FLIGHT = 64;
/** The request names the model, because a decision costs the same in every dialect. */
const MODEL = 'bench-model-3';
/** The benchmark leaves out larger prompts, because they add the same cost in each dialect. */
const MEASURED: readonly Workload[] = WORKLOADS.filter(({ name }) => !['JSON, 2 KB', 'JSON, 100 KB'].includes(name));
const HEAD = ['64 in flight, own prompts', 'dialect', 'floor µs', 'beyond the floor', 'against chat'];

interface Dialect {
  readonly name: string;
  readonly path: string;
  /** The path of the dialect's provider, below the base URL. */
  readonly upstreamPath: string;
  readonly adapter: string;
  fields(chat: ChatFields): object;
}

const DIALECTS: readonly Dialect[] = [
  {
    name: 'chat',
    path: '/v1/chat/completions',
    upstreamPath: '/chat/completions',
    adapter: 'openai-compatible',
    fields: (chat) => chat,
  },
  { name: 'Messages', path: '/v1/messages', upstreamPath: '/messages', adapter: 'anthropic', fields: messagesFields },
  { name: 'Responses', path: '/v1/responses', upstreamPath: '/responses', adapter: 'openai', fields: responsesFields },
];

/** A proxy that accepts requests of one dialect. */
interface Server {
  readonly dialect: Dialect;
  readonly isFloor: boolean;
  readonly program: Program;
}

interface Lane extends Server {
  readonly requests: Requests;
  /** CPU time in µs per request, round by round. */
  readonly cpu: number[];
}

/** @returns a table with a row for each workload and dialect. */
export async function surfaces({ rounds, warmUp }: SurfacePlan, only = ''): Promise<string> {
  const upstream = await startUpstream();
  const address = `http://127.0.0.1:${upstream.port}/v1`;
  const key = newKey();
  const servers: Server[] = [];
  try {
    for (const dialect of DIALECTS) {
      const floor = await startFloor(address, dialect.upstreamPath);
      const signalbox = await startWithPolicy(benchPolicy(address, dialect.adapter), key);
      servers.push({ dialect, isFloor: true, program: floor }, { dialect, isFloor: false, program: signalbox });
    }
    const [first] = WORKLOADS;
    for (const { program, requests } of lanesOf(servers, first!, key)) {
      await run(program.port, requests, IN_FLIGHT, warmUp);
    }
    const rows: string[][] = [];
    for (const workload of MEASURED.filter(({ name }) => name.includes(only))) {
      const lanes = lanesOf(servers, workload, key);
      await measure(lanes, workload, rounds);
      rows.push(...rowsOf(workload, lanes));
    }
    return table([HEAD, ...rows]);
  } finally {
    await Promise.all([upstream, ...servers.map(({ program }) => program)].map((program) => program.stop()));
  }
}

const lanesOf = (servers: readonly Server[], { fields }: Workload, key: string): Lane[] =>
  servers.map((server) => {
    const { dialect, program } = server;
    const body = { model: MODEL, ...dialect.fields(fields) };
    return { ...server, requests: bytesOf(httpBytes(program.port, dialect.path, key, body), 'own'), cpu: [] };
  });

/** The number of rounds of each workload before the measured rounds. */
const UNCOUNTED = 2;

async function measure(lanes: readonly Lane[], { requests }: Workload, rounds: number): Promise<void> {
  for (let round = -UNCOUNTED; round < rounds; round++) {
    // Another server begins each round, so that no server always follows the same neighbour.
    for (let at = 0; at < lanes.length; at++) {
      const lane = lanes[(at + round + UNCOUNTED) % lanes.length]!;
      const before = cpuMicros(lane.program.pid);
      await run(lane.program.port, lane.requests, IN_FLIGHT, requests);
      if (round >= 0) lane.cpu.push((cpuMicros(lane.program.pid) - before) / requests);
    }
  }
}

function rowsOf({ name }: Workload, lanes: readonly Lane[]): string[][] {
  const figures = DIALECTS.map((dialect) => {
    const micros = (isFloor: boolean) =>
      lowerQuartile(lanes.find((lane) => lane.dialect === dialect && lane.isFloor === isFloor)!.cpu);
    return { dialect: dialect.name, floor: micros(true), whole: micros(false) };
  });
  const chat = figures[0]!.whole - figures[0]!.floor;
  return figures.map(({ dialect, floor, whole }) => {
    const beyond = whole - floor;
    return [name, dialect, fixed(floor), fixed(beyond), fixed(beyond / chat, 2)];
  });
}
