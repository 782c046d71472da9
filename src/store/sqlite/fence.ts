import type { Database } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { Fault } from './fault.ts';
import type { Migrations } from './statement.ts';

/** A server that lost its lock on the folder (a file that somebody removed) must not write beside the next one. */
export const FENCE_TABLE: Migrations = {
  room: 'fence',
  versions: ['CREATE TABLE fence (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL) STRICT'],
};

export type Fence = () => void;

/** The interval of checks that the file is still in its place, ms. */
const LOOK_MS = 1_000;

/**
 * Fences other servers off, and returns a check that throws Fault once another server has done so, or the file is gone. Call it
 * within a transaction.
 */
export function raiseFence(db: Database, path: string): Fence {
  const raised = db.query<{ epoch: number }, []>(
    `INSERT INTO fence (id, epoch) VALUES (1, 1) ON CONFLICT DO UPDATE SET epoch = epoch + 1 RETURNING epoch`,
  );
  const own = raised.get()?.epoch;
  const select = db.prepare<{ epoch: number }, []>('SELECT epoch FROM fence');
  const isThere = watchFile(path);
  return () => {
    if (!isThere())
      throw new Fault('fenced', 'its file is gone or was replaced; put it back, or stop and restore a backup');
    if (select.get()?.epoch !== own)
      throw new Fault('fenced', 'another server has taken over this data folder; stop this one');
  };
}

/** The system lets an open file be written that has no name any more: whatever is booked there is lost with the process. */
function watchFile(path: string): () => boolean {
  const own = statSync(path);
  let lookAt = 0;
  return () => {
    if (performance.now() < lookAt) return true;
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.ino !== own.ino || found.dev !== own.dev) return false;
    lookAt = performance.now() + LOOK_MS;
    return true;
  };
}
