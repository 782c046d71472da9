import { rmSync } from 'node:fs';
import { waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { makeTestKey, type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { audit } from './audit.ts';
import { byMount } from './disks.ts';
import { readBeside } from './journal.ts';
import { newSent, send } from './load.ts';
import { startUpstreams, type Upstreams } from './upstreams.ts';

const PATIENCE_MS = 8_000;

/** A small disk with a data folder, on which a server may be started repeatedly. */
export interface SmallDisk {
  readonly data: string;
  readonly upstreams: Upstreams;
  /**
   * Starts a server.
   * @param isProcess false to run the server in this process, if it will not be killed
   */
  start(isProcess?: boolean): Promise<Signalbox>;
  stop(): Promise<void>;
}

export function makeSmallDisk(): SmallDisk {
  const data = temporaryFolder();
  byMount.mount(data);
  const upstreams = startUpstreams();
  const policy = testPolicy(upstreams.urls, { best: { endpoints: ['first', 'second'] } });
  const env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: makeTestKey() };
  const started: Signalbox[] = [];
  return {
    data,
    upstreams,
    async start(isProcess = true) {
      const box = await startSignalbox({ isProcess, data, policy, env, args: ['--drain-ms', '200'] });
      started.push(box);
      return box;
    },
    async stop() {
      await Promise.all(started.map((box) => box.stop()));
      await upstreams.stop();
      byMount.unmount(data);
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** A round of the test: the disk becomes full, and the server ends. */
export interface Round {
  readonly requests: number;
  /** How many callers were told a price while the disk was full. */
  readonly told: number;
  /** How many settlements the next start booked from the spool. */
  readonly spooled: number;
  readonly problems: readonly string[];
}

export interface RoundOptions {
  readonly box: Signalbox;
  readonly disk: SmallDisk;
  /** The numbers of the requests. Every fourth request fails over. */
  readonly requests: readonly number[];
  readonly end: 'SIGTERM' | 'SIGKILL';
  /** The pause between two chunks of an answer, ms. */
  readonly paceMs: number;
  /** How long after the last request has reached its upstream the disk becomes full, ms. */
  readonly leftMs: number;
  /** How long after that the server is told to end, ms. Null: after every answer has ended. */
  readonly endMs: number | null;
  /** True if the disk gets room for a moment and becomes full again. */
  readonly flickers: boolean;
}

/** Fills the disk while requests run, ends the server, frees the disk, and starts the server again. */
export async function fullDiskRound(options: RoundOptions): Promise<{ round: Round; next: Signalbox }> {
  const { box, disk, end, paceMs, leftMs, endMs, flickers } = options;
  const { upstreams, data } = disk;
  const known = new Set(readBeside(data).reservations.keys());
  const calls = upstreams.calls + options.requests.length;
  upstreams.pace(paceMs);
  const sent = options.requests.map(newSent);
  let ended = 0;
  const all = sent.map((one) =>
    send(box.url, box.key, one)
      // The connection breaks when the process ends.
      .catch(() => {})
      .finally(() => ended++),
  );
  await waitFor(() => upstreams.calls >= calls || ended === sent.length, PATIENCE_MS);
  await Bun.sleep(leftMs);
  byMount.fill(box);
  if (flickers) {
    await waitFor(() => ended > 0, PATIENCE_MS);
    byMount.free(box);
    await Bun.sleep(paceMs);
    byMount.fill(box);
  }
  if (endMs === null) await waitFor(() => ended === sent.length, PATIENCE_MS);
  else await Bun.sleep(endMs);
  box.signal(end);
  const code = await box.exited;
  await Promise.all(all);
  byMount.free(box);
  const next = await disk.start();
  const now = readBeside(data);
  // An orphan is charged what it had reserved, whatever its upstream billed.
  const problems = audit(sent, now, known, upstreams).problems.filter((one) => !one.includes('is held for the rest'));
  if (now.open.length > 0) problems.push(`${now.open.length} reservations are open after the start`);
  if (end === 'SIGTERM') problems.push(...endProblems(code, await box.errors));
  const told = sent.filter((one) => one.told !== null).length;
  return { round: { requests: sent.length, told, spooled: bookedBy(next), problems }, next };
}

/** A server that is told to end reports what it leaves behind only in its log. */
function endProblems(code: number, errors: string): string[] {
  const problems = code === 0 ? [] : [`SIGTERM ended with ${code}`];
  return errors.trim() === '' ? problems : [...problems, `the standard error has ${errors}`];
}

/** How many settlements a start has booked from the spool, according to its log. */
export function bookedBy({ lines }: Signalbox): number {
  const line = lines.find((one) => one.includes('booked settlements that an earlier run left in the spool'));
  return line === undefined ? 0 : Number(/"count":(\d+)/.exec(line)?.[1]);
}
