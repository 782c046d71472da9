import { afterEach, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { byMount, mayMount } from '../crash/disks.ts';
import { eventsOf, waitFor } from '../support/answers.ts';
import type { Way } from '../support/cable.ts';
import { type Signalbox, temporaryFolder } from '../support/signalbox.ts';
import { ask, audit, booked, COST, chat, isReady, makeKey, startCabled, startStage } from '../system/postgres/stage.ts';
import { effort } from './effort.ts';

/** `npm run test:deep -- database`: a database with a full disk, and servers that are paused in the middle of a group. */
const { runs, proved } = effort('database', 1, 4);
/** The disk fits a new cluster and little more. */
const DISK = '300m';
const CALLERS = 8;

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const sumOf = (told: readonly { readonly micro: number }[]) => told.reduce((sum, { micro }) => sum + micro, 0);

if (!mayMount) console.log('skipped, because nothing can be mounted here: a database whose disk is full');

test.skipIf(!mayMount)(
  `${runs} times a database whose disk is full: 503, streams under way tell their prices, nothing is lost`,
  async () => {
    const disk = temporaryFolder();
    byMount.mount(disk, DISK);
    ends.push(() => {
      byMount.unmount(disk);
      rmSync(disk, { recursive: true, force: true });
    });
    const stage = await startStage(2, { limit: 1_000_000, own: { disk } });
    ends.push(() => stage[Symbol.asyncDispose]());
    const { database, servers } = stage.fleet;
    const onDisk = { data: disk, pid: 0 };
    let asked = 0;
    for (let run = 0; run < runs; run++) {
      const team = `full ${run}`;
      const key = await makeKey(stage, team);
      const gate = Promise.withResolvers<void>();
      stage.answers.pace = () => gate.promise;
      const before = stage.gate.requests.length;
      const streams = servers.flatMap((box) => [0, 1].map(() => chat(box, key, { stream: true })));
      await waitFor(() => stage.gate.requests.length === before + streams.length);
      const told: Awaited<ReturnType<typeof ask>>[] = [];
      let isOver = false;
      const caller = async (box: Signalbox) => {
        while (!isOver) told.push(await ask(box, key));
      };
      const callers = Array.from({ length: CALLERS }, (_, at) => caller(servers[at % servers.length]!));
      byMount.fill(onDisk);
      const filled = performance.now();
      await waitFor(() => told.filter(({ status }) => status === 503).length > CALLERS, 120_000);
      console.log(
        `the first 503 ${Math.round(performance.now() - filled)} ms behind the full disk, of ${told.length} requests`,
      );
      // If the write-ahead log of PostgreSQL finds no room, the database stops.
      if (run % 2 === 1) await database.run('SELECT pg_switch_wal()').catch(() => {});
      gate.resolve();
      for (const stream of streams) {
        const { chunks, done } = await eventsOf(await stream);
        const platform = chunks.at(-1)?.platform;
        expect([done, Math.round((platform?.credits_consumed ?? 0) * 1e6)]).toEqual([true, COST]);
      }
      isOver = true;
      await Promise.all(callers);
      byMount.free(onDisk);
      const isUp = await waitFor(() => database.run('SELECT 1'), 2_000).catch(() => null);
      if (isUp === null) {
        await database.kill();
        await database.start();
      }
      for (const box of servers)
        await waitFor(async () => {
          const one = await ask(box, key);
          told.push(one);
          return one.status === 200 && (await isReady(box));
        });
      for (const { status, micro, retryAfter } of told)
        expect([status, micro, retryAfter !== null]).toEqual(status === 200 ? [200, COST, false] : [503, 0, true]);
      expect(await booked(servers[0]!, team)).toBe(sumOf(told) + streams.length * COST);
      expect(await audit(servers[1]!)).toBe('nothing wrong');
      delete stage.answers.pace;
      asked += told.length + streams.length;
    }
    proved(`${runs} times a full disk of the database under ${asked} requests: 503, all prices told were booked`);
  },
  1_200_000,
);

const isDeciding = ({ said }: Way) => /ledger_decide|nextval\('journal_seq'/.test(said);

/**
 * The moments at which a process is paused, by the bytes that it sends: while the group is on its way to the database, or while the COMMIT
 * of its records is.
 */
const MOMENTS: Readonly<Record<string, (sent: string, way: Way) => boolean>> = {
  'has sent a group': (sent, way) => isDeciding(way) && sent.includes('B\0'),
  'commits its records': (sent) => sent.includes('COMMIT\0'),
};

test.each(
  Object.keys(MOMENTS).flatMap(
    (moment) =>
      [
        [moment, 10],
        [moment, 60],
      ] as const,
  ),
)(
  'a server that %s and is paused for %i s: others continue within a second, it continues as its lease allows, and reported prices are booked',
  async (moment, seconds) => {
    const stage = await startCabled(0, { limit: 1_000_000 });
    ends.push(() => stage[Symbol.asyncDispose]());
    const { cable, fleet } = stage;
    const going = await fleet.start();
    const stopped = await stage.start({ isProcess: true });
    const key = await makeKey(stage, 'team');
    const warm = [await ask(going, key), await ask(stopped, key)];
    let isStopped = false;
    cable.holds = (sent, way) => {
      if (isStopped || !MOMENTS[moment]!(sent, way)) return null;
      isStopped = true;
      process.kill(stopped.pid, 'SIGSTOP');
      return null;
    };
    const under = Array.from({ length: 6 }, () => ask(stopped, key));
    await waitFor(() => isStopped);
    const until = performance.now() + seconds * 1_000;
    const others = [];
    while (performance.now() < until) {
      others.push(await ask(going, key));
      await Bun.sleep(100);
    }
    process.kill(stopped.pid, 'SIGCONT');
    for (const { status, micro } of others) expect([status, micro]).toEqual([200, COST]);
    expect(Math.min(...others.slice(0, 5).map(({ ms }) => ms))).toBeLessThan(1_000);
    const late = await Promise.all(under);
    // An answer that waited too long for its price ends without a price, but its cost is booked.
    const ways = [
      [200, COST],
      [200, 0],
      [503, 0],
    ];
    for (const { status, micro } of late) expect(ways).toContainEqual([status, micro]);
    const served = late.filter(({ status }) => status === 200).length;
    const fresh = await waitFor(async () => {
      const told = await ask(stopped, key);
      return told.status === 200 ? told : null;
    }, 60_000);
    const sum = sumOf([...warm, ...others, fresh]) + served * COST;
    const total = await waitFor(async () => {
      const found = await booked(going, 'team').catch(() => null);
      return found === null || found < sum ? null : found;
    }, 240_000);
    expect(total).toBe(sum);
    const rows = await fleet.database.run('SELECT slot, epoch FROM instances', fleet.url.split('/').at(-1));
    // A server that continues within its lease keeps its name; after the lease it has a new name.
    expect(rows.some(({ slot, epoch }) => Number(slot) > 1 || Number(epoch) > 1)).toBe(seconds > 20);
    expect(await audit(going)).toBe('nothing wrong');
    proved(
      `a server that ${moment} and stands still for ${seconds} s: ${others.length} requests of another one went on, told = booked`,
    );
  },
  600_000,
);
