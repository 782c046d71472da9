import type { Timer, Timers } from '../core/time/timers.ts';
import { type Instance, type InstanceName, isSameInstance, nameOf } from './instance.ts';
import { LEASE_MS, RENEW_MS } from './lease.ts';
import type { Write } from './store.ts';

/**
 * The jobs that a single instance, the leader, does for all instances. `sweep`: resolves what dead instances left. `reconcile`: queries
 * blockchains about payments. `count`: counts traffic. `prune`: deletes old rows. `alerts`: checks budgets and keys.
 */
export const LEADER_JOBS = ['sweep', 'reconcile', 'count', 'prune', 'alerts'] as const;
export type LeaderJob = (typeof LEADER_JOBS)[number];

/** The leases of jobs that an instance holds. The lease of a job lasts `LEASE_MS`, but no longer than the lease of the instance itself. */
export interface LeaderTable {
  /**
   * Takes the jobs that no instance holds, and renews the leases of jobs that this instance holds. Rejects with StoreError.
   * @returns the jobs that this instance now holds
   */
  take(): Promise<readonly LeaderJob[]>;
  /** Makes a condition for a commit: the commit fails with the reason `unmet` if this instance no longer holds the job. */
  require(job: LeaderJob): Write;
}

/** A job as this instance sees it. This instance may or may not hold the lease of the job. */
export interface Lead {
  /** Whether this instance holds the job's lease now. */
  readonly isHeld: boolean;
  /** Conditions for commits that only the leader may make. */
  conditions(): readonly Write[];
}

/** The view of a process that shares its store with no other process: such a process always leads. */
export const ALONE: Lead = { isHeld: true, conditions: () => [] };

interface LeadershipOptions {
  /** The leases of jobs; null if no other server shares the store. An instance that does not share its store leads all jobs, at no cost. */
  readonly table: LeaderTable | null;
  /** This instance, which loses its jobs when it loses its name. */
  readonly instance: Pick<Instance, 'slot' | 'epoch' | 'isCurrent'>;
  /** Milliseconds of a monotonic clock that also advances while the process is stopped. */
  readonly clock: () => number;
  readonly timers: Timers;
}

/** Renews the leases of the jobs that this instance leads, and takes jobs that become free. State: leaders. */
export class Leadership {
  readonly #options: LeadershipOptions;
  #held: ReadonlySet<LeaderJob> = new Set();
  #until = Number.NEGATIVE_INFINITY;
  /** The name that this instance had when it took its jobs. */
  #name: InstanceName | null = null;
  #timer: Timer | null = null;
  #renewing: Promise<void> | null = null;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  /**
   * Tries to take all jobs, at once and then regularly. Never rejects: if this instance cannot reach the store, other instances take the
   * jobs.
   */
  async begin(): Promise<void> {
    if (!this.#options.table) return;
    this.#timer = this.#options.timers.every(RENEW_MS, () => void this.renew());
    this.#timer.unref();
    await this.renew();
  }

  /** Stops the renewal of leases. Other instances can take the jobs once the leases run out or this instance ends. */
  stop(): void {
    this.#timer?.close();
  }

  /** Renews the leases of jobs. Concurrent calls share a single renewal. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew()
      .catch(() => {})
      .finally(() => {
        this.#renewing = null;
      });
    return this.#renewing;
  }

  of(job: LeaderJob): Lead {
    const { table } = this.#options;
    if (!table) return ALONE;
    const leads = () => this.#leads(job);
    return {
      get isHeld() {
        return leads();
      },
      conditions: () => [table.require(job)],
    };
  }

  #leads(job: LeaderJob): boolean {
    const { instance, clock } = this.#options;
    const isSame = this.#name !== null && isSameInstance(this.#name, instance);
    return this.#held.has(job) && clock() < this.#until && isSame && instance.isCurrent;
  }

  async #renew(): Promise<void> {
    const { instance, clock, table } = this.#options;
    const [from, name] = [clock(), nameOf(instance)];
    this.#held = new Set(await table?.take());
    this.#name = name;
    this.#until = from + LEASE_MS;
  }
}
