import type { Timer, Timers } from '../core/timers.ts';
import { type Instance, type InstanceName, isSameInstance, nameOf } from './instance.ts';
import { LEASE_MS, RENEW_MS } from './lease.ts';
import type { Write } from './store.ts';

/**
 * Work that one instance does for all. `sweep`: resolves what dead instances left. `reconcile`: asks chains about payments. `count`: the
 * traffic. `learning`: stores the usual lengths of questions. `prune`: deletes old rows. `alerts`: looks at budgets and keys.
 */
export const LEADER_JOBS = ['sweep', 'reconcile', 'count', 'learning', 'prune', 'alerts'] as const;
export type LeaderJob = (typeof LEADER_JOBS)[number];

/** The leases of jobs, as one instance has them: each lasts `LEASE_MS`, and no longer than that of its instance. */
export interface LeaderTable {
  /**
   * Takes the jobs that nobody has, and renews its own. Rejects with StoreError.
   * @returns those that it has from now on
   */
  take(): Promise<readonly LeaderJob[]>;
  /** For a commit, which is refused (`unmet`) where this instance does not have the job any more. */
  require(job: LeaderJob): Write;
}

/** One job, as this instance has it or not. */
export interface Lead {
  /** Whether this instance does the job now. */
  readonly isHeld: boolean;
  /** The condition of commits that only its leader may make. */
  conditions(): readonly Write[];
}

/** The lead of a process that nobody shares a store with. */
export const ALONE: Lead = { isHeld: true, conditions: () => [] };

interface LeadershipOptions {
  /** Null where no other process decides by the store: then this one leads in everything, at no cost. */
  readonly table: LeaderTable | null;
  /** This instance: a job is no longer its own than its name is. */
  readonly instance: Pick<Instance, 'slot' | 'epoch' | 'isCurrent'>;
  /** Milliseconds on a clock that never goes back. It goes on while the process is stopped. */
  readonly clock: () => number;
  readonly timers: Timers;
}

/** Keeps the leases of the jobs that this instance leads, and takes those that become free. State: leaders. */
export class Leadership {
  readonly #options: LeadershipOptions;
  #held: ReadonlySet<LeaderJob> = new Set();
  #until = Number.NEGATIVE_INFINITY;
  /** The name under which they were taken. */
  #name: InstanceName | null = null;
  #timer: Timer | null = null;
  #renewing: Promise<void> | null = null;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  /** Asks for all jobs, now and regularly. Never rejects: where the store is away, others take them. */
  async begin(): Promise<void> {
    if (!this.#options.table) return;
    this.#timer = this.#options.timers.every(RENEW_MS, () => void this.renew());
    this.#timer.unref();
    await this.renew();
  }

  /** Begins no more work; the jobs are others' once the leases have run out, or the instance has ended. */
  stop(): void {
    this.#timer?.close();
  }

  /** One at a time. */
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
