import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { benchPolicy } from './policy.ts';
import { type Program, startProgram } from './process.ts';

const HERE = import.meta.dir;
/** Allows as many parallel calls as callers make, instead of 256. */
const FETCH_ENV = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' };

export interface Bench {
  readonly upstream: Program;
  /** The address at which providers of a policy reach the upstream. */
  readonly address: string;
  readonly floor: Program;
  readonly flat: Program;
  readonly signalbox: Program;
  readonly key: string;
  /** Starts another Signalbox for the same upstream, with its own policy. */
  start(policy: string): Promise<Program>;
  stop(): Promise<void>;
}

/**
 * Starts the upstream, and gateways that call it: the floor, the flat gateway, and the full Signalbox with key, schema, policy, decision
 * and durable ledger.
 */
export async function startBench(): Promise<Bench> {
  const upstream = await startUpstream();
  const address = `http://127.0.0.1:${upstream.port}/v1`;
  const floor = await startFloor(address);
  const key = newKey();
  const flat = await startFlat(address, key);
  const gateways: Program[] = [];
  const start = async (policy: string) => {
    const gateway = await startWithPolicy(policy, key);
    gateways.push(gateway);
    return gateway;
  };
  return {
    upstream,
    address,
    floor,
    flat,
    signalbox: await start(benchPolicy(address)),
    key,
    start,
    async stop() {
      await Promise.all([upstream, floor, flat, ...gateways].map((program) => program.stop()));
    },
  };
}

export const newKey = (): string =>
  `sb_live_bench0000000_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')}`;

/** @param waitMs the time that each answer takes. @param port 0 for any free port */
export const startUpstream = (waitMs = 0, port = 0): Promise<Program> =>
  startProgram([process.execPath, join(HERE, 'upstream.ts'), String(waitMs), String(port)], /^(\d+)\n/);

/** @param address of the upstream. @param path of the upstream's dialect */
export const startFloor = (address: string, path = '/chat/completions'): Promise<Program> =>
  startProgram([process.execPath, join(HERE, 'floor.ts'), address, path], /^(\d+)\n/, FETCH_ENV);

/** @param budget of the key, in microcredits. @param folder of its database, either of an earlier start or new */
export const startFlat = (
  address: string,
  key: string,
  budget = Number.MAX_SAFE_INTEGER,
  folder = temporaryFolder(),
): Promise<Program> =>
  startProgram(
    [process.execPath, join(HERE, 'flat-gateway.ts'), address, join(folder, 'flat.db'), String(budget)],
    /^(\d+)\n/,
    { API_KEY: key, ...FETCH_ENV },
  );

/** Returns a folder that is deleted when this process ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Starts Signalbox as `npm start` does, at a free port, with the benchmark's policy unless `args` name another. `root`: the root of another
 * checkout.
 */
export const startSignalbox = (
  args: readonly string[],
  key: string,
  env: Readonly<Record<string, string>> = {},
  root = join(HERE, '..'),
): Promise<Program> =>
  startProgram([join(root, 'src/main.ts'), 'serve', '--port', '0', ...args], /127\.0\.0\.1:(\d+)/, {
    SIGNALBOX_API_KEY: key,
    ...env,
  });

/** Starts Signalbox with its own policy and a new data folder. */
export function startWithPolicy(
  policy: string,
  key: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'policy.yaml'), policy);
  return startSignalbox(['--data', join(folder, 'data'), '--policies', folder], key, env);
}
