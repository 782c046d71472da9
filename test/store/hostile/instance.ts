import { createIds, idAt } from '../../../src/core/id.ts';
import { type Instance, type InstanceName, isSameInstance } from '../../../src/store/instance.ts';
import { StoreError } from '../../../src/store/store.ts';
import type { WorldClock } from './clock.ts';
import type { Connection } from './connection.ts';

/** A lease is good for so long, ms. */
const LEASE_MS = 20_000;
const RENEW_MS = 5_000;
/** So long after its end another may take its slot, and its work is taken over, ms. */
const FREE_AFTER_MS = 60_000;
/** An instance gives no ID so far ahead of its last renewal, ms. */
const IDS_AHEAD_MS = 30_000;

interface Lease {
  readonly epoch: number;
  /** By the store's clock; it never comes back once it is over for so long that its slot is free. */
  readonly until: number;
  readonly idsThrough: number;
  readonly isReleased: boolean;
}

/** The leases of a store, by slot. */
export class Leases {
  readonly #clock: WorldClock;
  readonly #rows = new Map<number, Lease>();
  readonly #taken: InstanceName[] = [];

  constructor(clock: WorldClock) {
    this.#clock = clock;
  }

  /** Takes the lowest free slot. */
  take(): InstanceName & { readonly idsAbove: number } {
    let slot = 0;
    while (this.#isTaken(slot)) slot++;
    const before = this.#rows.get(slot);
    const epoch = (before?.epoch ?? 0) + 1;
    const idsAbove = before?.idsThrough ?? 0;
    this.#rows.set(slot, this.#leaseOf(epoch, idsAbove));
    this.#taken.push({ slot, epoch });
    return { slot, epoch, idsAbove };
  }

  /** @returns whether it is renewed; false: it is over for good */
  renew({ slot, epoch }: InstanceName): boolean {
    const row = this.#rows.get(slot);
    if (row?.epoch !== epoch || !this.#isTaken(slot)) return false;
    this.#rows.set(slot, this.#leaseOf(epoch, row.idsThrough));
    return true;
  }

  release({ slot, epoch }: InstanceName): void {
    const row = this.#rows.get(slot);
    if (row?.epoch === epoch) this.#rows.set(slot, { ...row, isReleased: true });
  }

  /** Ends a lease at once, as if its instance had been away for long: for a rival. */
  revoke(slot: number): void {
    const row = this.#rows.get(slot);
    if (row) this.#rows.set(slot, { ...row, until: this.#clock.now() - FREE_AFTER_MS });
  }

  /** Whether commits that state this name are taken now. */
  isCurrent({ slot, epoch }: InstanceName): boolean {
    const row = this.#rows.get(slot);
    return row?.epoch === epoch && !row.isReleased && row.until > this.#clock.now();
  }

  /** The instances that will never write again. */
  get dead(): readonly InstanceName[] {
    return this.#taken.filter((name) => !this.lives(name));
  }

  lives({ slot, epoch }: InstanceName): boolean {
    return this.#rows.get(slot)?.epoch === epoch && this.#isTaken(slot);
  }

  #isTaken(slot: number): boolean {
    const row = this.#rows.get(slot);
    return row !== undefined && !row.isReleased && row.until + FREE_AFTER_MS > this.#clock.now();
  }

  #leaseOf(epoch: number, idsBefore: number): Lease {
    const now = this.#clock.now();
    const idsThrough = Math.max(idsBefore, idAt(now + LEASE_MS + IDS_AHEAD_MS));
    return { epoch, until: now + LEASE_MS, idsThrough, isReleased: false };
  }
}

/** An instance by a lease that it renews. It takes a new epoch once its own is over. */
export class LeasedInstance implements Instance {
  readonly clockOffsetMs = 0;
  slot = 0;
  epoch = 0;
  idsAbove = 0;
  readonly #leases: Leases;
  readonly #connection: Connection;
  readonly #clock: WorldClock;
  #validUntil = Number.NEGATIVE_INFINITY;
  #ids = () => 0;
  #isReleased = false;

  constructor(leases: Leases, connection: Connection, clock: WorldClock) {
    this.#leases = leases;
    this.#connection = connection;
    this.#clock = clock;
    this.#take();
    this.#renewLater();
  }

  get isCurrent(): boolean {
    return !this.#isReleased && this.#validUntil > this.#clock.now();
  }

  get fenced(): string | null {
    return this.isCurrent ? null : 'This server has not reached its store for too long, and takes its place anew.';
  }

  /** Handed on without its object. */
  readonly now = (): number => this.#clock.now();

  nextId(): number {
    if (!this.isCurrent) throw new StoreError(this.fenced ?? '', { reason: 'fenced' });
    return this.#ids();
  }

  lives(name: InstanceName): Promise<boolean> {
    return this.#connection.read(Promise.resolve(this.#leases.lives(name)));
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    this.#leases.release(this);
  }

  #take(): void {
    const { slot, epoch, idsAbove } = this.#leases.take();
    Object.assign(this, { slot, epoch, idsAbove });
    this.#ids = createIds(() => this.#clock.now(), idsAbove, slot);
    this.#validUntil = this.#clock.now() + LEASE_MS;
  }

  #renewLater(): void {
    this.#clock.after(Math.max(RENEW_MS, this.#connection.pausedFor), () => {
      if (this.#isReleased || this.#connection.isCrashed) return;
      if (this.#connection.isPaused) return this.#renewLater();
      void this.#renew().then(() => this.#renewLater());
    });
  }

  async #renew(): Promise<void> {
    const name = { slot: this.slot, epoch: this.epoch };
    const asked = this.#clock.now();
    try {
      const isRenewed = await this.#connection.read(Promise.try(() => this.#leases.renew(name)));
      if (!isSameInstance(name, this)) return;
      if (isRenewed) this.#validUntil = asked + LEASE_MS;
      else this.#take();
    } catch (error) {
      // The next turn asks again.
      if (!(error instanceof StoreError)) throw error;
    }
  }
}
