import { type InstanceName, isSameInstance, nameOf } from '../../../src/store/instance.ts';
import { LEADER_JOBS, type LeaderJob } from '../../../src/store/leaders.ts';
import { LEASE_MS } from '../../../src/store/lease.ts';
import type { Write } from '../../../src/store/store.ts';
import { type MemoryStore, unmet } from './store.ts';

interface LeaderRow {
  readonly name: InstanceName;
  readonly until: number;
}

/** The leases of jobs in a store in memory, which several instances share. */
export class MemoryLeaders {
  readonly #rows = new Map<LeaderJob, LeaderRow>();
  readonly #store: MemoryStore;
  readonly #now: () => number;
  readonly #lives: (name: InstanceName) => boolean;

  /**
   * @param now the store's clock, ms since 1970
   * @param lives returns whether the lease of an instance is valid
   */
  constructor(store: MemoryStore, now: () => number, lives: (name: InstanceName) => boolean) {
    this.#store = store;
    this.#now = now;
    this.#lives = lives;
  }

  take(name: InstanceName): LeaderJob[] {
    for (const job of LEADER_JOBS) {
      const leader = this.leaderOf(job);
      if (leader && !isSameInstance(leader, name)) continue;
      this.#rows.set(job, { name: nameOf(name), until: this.#now() + LEASE_MS });
    }
    return LEADER_JOBS.filter((job) => this.#leads(name, job));
  }

  require(name: InstanceName, job: LeaderJob): Write {
    const own = nameOf(name);
    return this.#store.write(() => {
      if (!this.#leads(own, job)) unmet();
    });
  }

  /** Returns the leader of a job; null if there is none. */
  leaderOf(job: LeaderJob): InstanceName | null {
    const row = this.#rows.get(job);
    return row && row.until > this.#now() && this.#lives(row.name) ? row.name : null;
  }

  #leads(name: InstanceName, job: LeaderJob): boolean {
    const leader = this.leaderOf(job);
    return leader !== null && isSameInstance(leader, name);
  }
}
