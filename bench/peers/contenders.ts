import { startPostgres } from '../../test/support/postgres.ts';
import { newKey, startFlat, startFloor, startUpstream, startWithPolicy } from '../gateways.ts';
import { fullPolicy, governedPolicy } from '../policy.ts';
import type { Program } from '../process.ts';
import type { LiteLlm } from './litellm.ts';
import { type Portkey, portkeyHeaders } from './portkey.ts';
import type { RunningGateway } from './running.ts';

const PINNED = 'bench-model-3';

/** Gateways that call one upstream, and how to stop the gateways that the benchmark started. */
export interface Contenders extends AsyncDisposable {
  readonly gateways: readonly RunningGateway[];
}

/** The gateways that are compared with Signalbox. A gateway that is null could not be installed, or is not wanted. */
export interface Peers {
  readonly portkey: Portkey | null;
  readonly liteLlm: LiteLlm | null;
  readonly running: readonly RunningGateway[];
}

/** Starts an upstream and, with new databases, the floor, the flat gateway, Signalbox and the peers, in this order. */
export async function startContenders(peers: Peers, upstreamPort: number): Promise<Contenders> {
  await using stack = new AsyncDisposableStack();
  const started = async (program: Promise<Program>) => stack.adopt(await program, (one) => one.stop());
  const upstream = await started(startUpstream(0, upstreamPort));
  const address = `http://127.0.0.1:${upstream.port}/v1`;
  const key = newKey();
  const floor = await started(startFloor(address));
  const flat = await started(startFlat(address, key));
  const signalbox = await started(startWithPolicy(governedPolicy(address), key));
  const full = await started(startWithPolicy(fullPolicy(address), key));
  const database = stack.use(await startPostgres({ settings: { max_wal_size: '4GB' } }));
  await database.create('bench');
  const env = { DATABASE_URL: database.urlOf('bench') };
  const onPostgres = await started(startWithPolicy(governedPolicy(address), key, env));
  const own = [
    of('floor', floor, key, 'bare'),
    of('flat gateway', flat, key, 'governed'),
    of('Signalbox, SQLite, pinned model', signalbox, key, 'governed'),
    { ...of('Signalbox, SQLite, `auto`', signalbox, key, 'governed'), model: 'auto' },
    { ...of('Signalbox, SQLite, `auto`, rules and rate limits', full, key, 'governed'), model: 'auto' },
    withDatabase(of('Signalbox, PostgreSQL, pinned model', onPostgres, key, 'governed'), database.pid),
  ];
  for (const runtime of ['Node', 'Bun'] as const) {
    if (!peers.portkey) continue;
    const program = await started(peers.portkey.start(runtime));
    own.push({ ...of(`Portkey on ${runtime}`, program, key, 'bare'), headers: portkeyHeaders(address) });
  }
  if (peers.liteLlm) {
    const master = `sk-${key}`;
    const program = await started(peers.liteLlm.start(address, PINNED, master));
    own.push(of('LiteLLM, a master key', program, master, 'bare'));
  }
  const all = stack.move();
  return { gateways: [...own, ...peers.running], [Symbol.asyncDispose]: () => all.disposeAsync() };
}

function of(name: string, { pid, port }: Program, key: string, promises: RunningGateway['promises']): RunningGateway {
  return { name, url: `http://127.0.0.1:${port}/v1/chat/completions`, key, model: PINNED, pids: [pid], promises };
}

const withDatabase = (gateway: RunningGateway, pid: number | undefined): RunningGateway => ({
  ...gateway,
  pids: pid === undefined ? gateway.pids : [...gateway.pids, pid],
});
