import type { Database, Statement } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { Fault } from './fault.ts';
import { raisedBy } from './news.ts';
import type { Migrations } from './statement.ts';

/** A server that lost its lock on the folder (a file that somebody removed) must not write beside the next one. */
export const FENCE_TABLE: Migrations = {
  room: 'fence',
  versions: [
    'CREATE TABLE fence (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL) STRICT',
    raisedBy('instances', 'fence', ['INSERT', 'UPDATE']),
  ],
};

/** The interval of checks that the file is still in its place, ms. */
const LOOK_MS = 1_000;

/** Fences other servers off. State: folder lock. */
export class Fence {
  /** Grows with each server that opens the database. */
  readonly epoch: number;
  /** Why the last check failed, in words for an operator; null where it did not. */
  broken: string | null = null;
  readonly #select: Statement<{ epoch: number }, []>;
  readonly #isThere: () => boolean;

  constructor(db: Database, path: string) {
    const raised = db.query<{ epoch: number }, []>(
      `INSERT INTO fence (id, epoch) VALUES (1, 1) ON CONFLICT DO UPDATE SET epoch = epoch + 1 RETURNING epoch`,
    );
    this.epoch = raised.get()?.epoch ?? 0;
    this.#select = db.prepare('SELECT epoch FROM fence');
    this.#isThere = watchFile(path);
  }

  /** Throws Fault once another server has raised its fence, or the file is gone. A commit is to call it within its transaction. */
  check(): void {
    this.broken = null;
    if (!this.#isThere()) this.broken = 'its file is gone or was replaced; put it back, or stop and restore a backup';
    else if (!this.isRaisedBy(this.epoch))
      this.broken = 'another server has taken over this data folder; stop this one';
    if (this.broken !== null) throw new Fault('fenced', this.broken);
  }

  /** Updates `broken`, with no transaction. Throws what the database throws. */
  look(): void {
    try {
      this.check();
    } catch (error) {
      if (!(error instanceof Fault && error.reason === 'fenced')) throw error;
    }
  }

  /** Whether the server of this epoch raised the fence last. */
  isRaisedBy(epoch: number): boolean {
    return this.#select.get()?.epoch === epoch;
  }
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
