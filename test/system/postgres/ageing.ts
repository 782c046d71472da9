import { idAt } from '../../../src/core/id.ts';
import type { Timers } from '../../../src/core/time/timers.ts';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { SWEEP_EVERY_MS } from '../../../src/server/sweep.ts';
import type { Instance } from '../../../src/store/instance.ts';
import { RENEW_MS } from '../../../src/store/lease.ts';
import { openStore } from '../../../src/store/open.ts';
import { waitFor } from '../../support/answers.ts';
import type { PostgresServers } from '../../support/postgres-servers.ts';
import type { Signalbox, StartOptions } from '../../support/signalbox.ts';

/** A leader must have reached the database for a minute before it ends the work of other servers, ms. */
const GRACE_MS = 60_000;
/** After two of these steps, a renewal is not late yet, ms. */
const STEP_MS = 3_000;

const timers: Timers = {
  after: processTimers.after,
  every: (ms, run) => processTimers.every(ms === RENEW_MS || ms === SWEEP_EVERY_MS ? 100 : ms, run),
};

/** Starts a server whose minute is over at once. As the only server of its database it sweeps for all, ten times a second. */
export async function startSweeper(fleet: PostgresServers, options: StartOptions = {}): Promise<Signalbox> {
  let skippedMs = 0;
  const clock = () => performance.now() + skippedMs;
  let instance: Pick<Instance, 'reachedForMs'> | null = null;
  const openAged = async () => {
    const store = await openStore(fleet.url, { mode: 'serve', timers, clock });
    ({ instance } = store);
    return store;
  };
  const server = await fleet.start({ ...options, timers, clock, openStore: openAged });
  const leaseEnd = async () => Number((await query(fleet, 'SELECT until FROM instances WHERE slot = 0'))[0]?.until);
  // A late renewal on a busy machine restarts the minute.
  for (const began = clock(); Math.min(clock() - began, instance!.reachedForMs) <= GRACE_MS; ) {
    skippedMs += STEP_MS;
    // The first renewal that the test sees may have begun earlier.
    for (let seen = 0; seen < 2; seen++) {
      const before = await leaseEnd();
      await waitFor(async () => (await leaseEnd()) > before);
    }
  }
  return server;
}

/** Kills a process. */
export async function kill(server: Signalbox): Promise<void> {
  server.signal('SIGKILL');
  await server.exited;
}

/** Moves times so that the lease of a killed process and the following minute are over, and the mark of its IDs has passed. */
export const forget = (fleet: PostgresServers, { pid }: Signalbox) =>
  query(
    fleet,
    `UPDATE instances SET until = 0, ids_through = ${idAt(Date.now())} FROM instance_reports AS r
      WHERE r.slot = instances.slot AND r.epoch = instances.epoch AND r.name LIKE '%:${pid}'`,
  );

const query = ({ database, url }: PostgresServers, text: string) => database.run(text, url.split('/').at(-1));
