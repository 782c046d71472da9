import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { headLine } from '../admin/use-cases/trail.ts';
import { headsIn, linksOf, TrailCheck } from '../admin/use-cases/trail-check.ts';
import type { Timers } from '../core/time/timers.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { OpenStore } from '../store/driver.ts';
import { moveDurably, writeDurably } from '../store/durable-file.ts';
import { reasonOf } from '../store/reason.ts';
import type { TrailHead } from '../store/trail.ts';
import { keepDoing } from './keep-doing.ts';

/** The interval at which the head of the audit trail is stored outside the database, ms. */
const NOTE_HEAD_EVERY_MS = 60_000;

/** The interval at which the log gets the head, ms. A log that a person reads should not be full of it. */
const LOG_HEAD_EVERY_MS = 3_600_000;

/** The file that has the head of the audit trail, outside the store. */
const headFile = (data: string): string => join(data, 'trail.head');

/** Reads the stored heads of the audit trail from a data folder. `notedHeads` throws the system's error. */
export function notedHeads(data: string): TrailHead[] {
  const file = headFile(data);
  return existsSync(file) ? headsIn(readFileSync(file, 'utf8')) : [];
}

interface HeadParts {
  readonly store: Pick<OpenStore, 'trail' | 'flush'>;
  readonly log: Log;
  readonly timers: Timers;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Once a minute, checks the new entries of the audit trail and stores its head in the data folder. Once an hour and when the server stops,
 * the log gets a new head as well, because other systems keep the log. If a head of the audit trail does not follow from the previous head, the server reports that head and does not store it. State:
 * trail head.
 * @returns a function that stores the head a last time and stops; it never rejects
 */
export async function keepTrailHead(
  data: string,
  { store, log, timers, now }: HeadParts,
): Promise<() => Promise<void>> {
  let reported = '';
  let unlogged: TrailHead | null = null;
  let loggedAt = now();
  const logHead = (isLast: boolean): void => {
    if (!unlogged || (!isLast && now() < loggedAt + LOG_HEAD_EVERY_MS)) return;
    log.info('the head of the trail was noted', { ...unlogged });
    unlogged = null;
    loggedAt = now();
  };
  const report = (problem: string, message: string, details: object) => {
    if (problem !== reported) log.error(message, { problem, ...details });
    reported = problem;
  };
  const follow = async (): Promise<void> => {
    const file = headFile(data);
    try {
      const noted = notedHeads(data).at(-1) ?? null;
      const { faults, head } = await checkSince(store, noted);
      const [fault] = faults;
      if (fault) return report(fault.problem, 'the trail differs from the last noted head', { entry: fault.id, file });
      if (!head || head.hash === noted?.hash) return;
      // After a loss of power, the stored head of the audit trail must not be ahead of the database.
      await store.flush();
      await writeDurably(`${file}.new`, headLine(head, now()));
      await moveDurably(`${file}.new`, file);
      unlogged = head;
      reported = '';
    } catch (cause) {
      report(reasonOf(cause), 'the head of the trail could not be noted', { file });
    }
  };
  const regularly = async (): Promise<void> => {
    await follow();
    logHead(false);
  };
  const stop = await keepDoing(regularly, NOTE_HEAD_EVERY_MS, timers);
  return async () => {
    await stop();
    await follow();
    logHead(true);
  };
}

/** Checks the entries of the audit trail after a head, or all entries if the head is not found. */
async function checkSince({ trail }: HeadParts['store'], noted: TrailHead | null) {
  const [found] = noted ? await trail.links(noted.id - 1, { rows: 1, chars: 1 }) : [];
  const since = found && found.id === noted?.id ? found.id - 1 : null;
  const check = new TrailCheck(noted ? [noted] : [], since === null);
  for await (const link of linksOf(trail, since ?? undefined)) check.add(link);
  return check.end();
}
