import { type Instance, type InstanceName, nameOf } from '../../src/store/instance.ts';
import { keepLease, type LeaseTable } from '../../src/store/lease-keeper.ts';
import { StoreError } from '../../src/store/store.ts';
import { SimulatedHost } from '../support/simulated-host.ts';
import { refusalOf } from './implementations.ts';
import { MemoryLeases } from './memory/leases.ts';

const START = Date.UTC(2026, 10, 20, 12);

/** A process. A process has an instance once it has started. */
export interface Process {
  readonly host: SimulatedHost;
  readonly instance: Instance;
  /** Instance names that the process has lost. */
  readonly lost: InstanceName[];
}

/** A mutant: the store renews leases that have ended. */
class RevivingLeases extends MemoryLeases {
  protected override isTooLate(): boolean {
    return false;
  }
}

/** A store with several processes. The test controls the time. */
export class Stand {
  time = START;
  /** How far the store's clock is ahead of the true time, ms. */
  storeSkewMs = 0;
  isAway = false;
  readonly leases: MemoryLeases;
  readonly processes: Process[] = [];
  readonly #table: LeaseTable;

  constructor(spoil: (table: LeaseTable) => LeaseTable = (table) => table, isReviving = false) {
    const Leases = isReviving ? RevivingLeases : MemoryLeases;
    this.leases = new Leases(() => this.time + this.storeSkewMs);
    const here = () => {
      if (this.isAway) throw new StoreError('the store is away', { reason: 'broken' });
    };
    this.#table = spoil({
      read: async () => {
        here();
        return this.leases.read();
      },
      write: async (change) => {
        here();
        return this.leases.write(change);
      },
    });
  }

  async begin(skewMs = 0): Promise<Process> {
    const host = new SimulatedHost(() => this.time, skewMs);
    const lost: InstanceName[] = [];
    const { clock, now, timers } = host;
    const onLost = (old: InstanceName) => void lost.push(old);
    const instance = await keepLease({ table: this.#table, clock, now, timers, onLost });
    const process = { host, instance, lost };
    this.processes.push(process);
    return process;
  }

  /** Advances the time in steps. In each step, every running process does what is due. */
  async pass(ms: number, stepMs = 1_000): Promise<void> {
    for (const end = this.time + ms; this.time < end; ) {
      this.time = Math.min(end, this.time + stepMs);
      for (const { host } of this.processes) host.run();
      await settled();
    }
  }

  /** Whether the store would accept a commit of this process now. */
  accepts({ instance }: Process): boolean {
    return this.leases.accepts(nameOf(instance));
  }

  /** Ends a process without any message to the store. */
  crash(process: Process): void {
    process.host.isStopped = true;
    this.processes.splice(this.processes.indexOf(process), 1);
  }

  async stop(process: Process): Promise<void> {
    await process.instance.release();
    this.crash(process);
  }
}

/** Resolves once all promises have run that wait for no timer or call. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Resolves with the reason why some work was refused; null if it was not. */
export const reasonOf = (work: () => unknown): Promise<string | null> => refusalOf(Promise.resolve().then(work));
