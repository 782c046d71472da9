import type { Database, Statement } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { Fault } from './fault.ts';
import { raisedBy } from './news.ts';
import { BASELINE, type Migrations } from './statement.ts';

/**
 * The fence stops a server that lost its lock on the folder, for example because someone deleted the lock file: such a server must not
 * write together with the next server.
 */
export const FENCE_TABLE: Migrations = {
  room: 'fence',
  versions: {
    [BASELINE]: `CREATE TABLE fence (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL) STRICT;
    ${raisedBy('instances', 'fence', ['INSERT', 'UPDATE'])}`,
  },
};

/** The interval at which the fence checks that the database file still has its path, ms. */
const LOOK_MS = 1_000;

/** The fence keeps other servers from writing. State: folder lock. */
export class Fence {
  /** The epoch of the server, a number that grows with each server that opens the database. */
  readonly epoch: number;
  /** Why the last check failed, in words for an operator; null if the last check succeeded. */
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

  /**
   * Throws Fault if another server has since raised its fence, or if the database file is gone. Each commit checks the fence within its
   * transaction.
   */
  check(): void {
    this.broken = null;
    if (!this.#isThere()) this.broken = 'its file is gone or was replaced; put it back, or stop and restore a backup';
    else if (!this.isRaisedBy(this.epoch))
      this.broken = 'another server has taken over this data folder; stop this one';
    if (this.broken !== null) throw new Fault('fenced', this.broken);
  }

  /** Updates `broken` without a transaction. Throws the database's error. */
  look(): void {
    try {
      this.check();
    } catch (error) {
      if (!(error instanceof Fault && error.reason === 'fenced')) throw error;
    }
  }

  /** Whether the server with this epoch was the last server that raised the fence. */
  isRaisedBy(epoch: number): boolean {
    return this.#select.get()?.epoch === epoch;
  }
}

/**
 * Returns a function that checks that the open file still has its path. The operating system allows writes to a deleted file, and such
 * writes are lost when the process ends.
 */
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
