import { afterAll, expect, test } from 'bun:test';
import { mayMount } from '../crash/disks.ts';
import { fullDiskRound, makeSmallDisk, type Round } from '../crash/full-disk.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- disk-full`: the disk fills up while requests run, the server ends, the disk gets room again, and the server starts;
 * repeated on the same data folder.
 */
const { runs, random, proved } = effort('disk-full', 2, 60);

const REQUESTS_MAX = 24;

const disk = mayMount ? makeSmallDisk() : null;
afterAll(() => disk?.stop());

const sum = (rounds: readonly Round[], of: (round: Round) => number): number =>
  rounds.reduce((all, round) => all + of(round), 0);

test.skipIf(!disk)(
  `${runs} times a full disk, an end and a start`,
  async () => {
    if (!disk) return;
    const rounds: Round[] = [];
    const ends = { SIGTERM: 0, SIGKILL: 0 };
    let box = await disk.start();
    let next = 1;
    for (let run = 0; run < runs; run++) {
      const count = 1 + Math.floor(random() * REQUESTS_MAX);
      const requests = Array.from({ length: count }, () => next++);
      const end = random() < 0.5 ? 'SIGTERM' : 'SIGKILL';
      const paceMs = 20 + Math.floor(random() * 120);
      const when = {
        leftMs: Math.floor(random() * 4 * paceMs),
        endMs: random() < 0.4 ? Math.floor(random() * 500) : null,
      };
      const made = await fullDiskRound({ box, disk, requests, end, paceMs, ...when, flickers: random() < 0.3 });
      expect(made.round.problems).toEqual([]);
      rounds.push(made.round);
      ends[end]++;
      box = made.next;
    }
    const audited = await box.run('ledger', 'audit', '--idle');
    expect(audited).toMatchObject({ code: 0, err: '' });
    const asked = sum(rounds, ({ requests }) => requests);
    const told = sum(rounds, (round) => round.told);
    const spooled = sum(rounds, (round) => round.spooled);
    const line = `a full disk, then ${ends.SIGTERM} times SIGTERM and ${ends.SIGKILL} times kill -9, room, and a start: of ${asked} requests ${told} prices told, each booked as told; ${spooled} settlements came from the spool, none twice; every SIGTERM ended with 0; the audit found nothing wrong`;
    console.log(line);
    expect(spooled).toBeGreaterThan(0);
    proved(line);
  },
  3_600_000,
);
