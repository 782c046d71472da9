import { StoreError } from './store.ts';

/** The name of one run of a server. Rows name their owner with it. No other run on the same store ever gets the same name. */
export interface InstanceName {
  /** 0 to 127. Two instances that run at the same time have different slots, so their IDs differ. */
  readonly slot: number;
  /** Grows each time that a process takes the slot. */
  readonly epoch: number;
}

/** Copies a name, for a row. The copy is needed because the name of an `Instance` changes when its process takes a new epoch. */
export const nameOf = ({ slot, epoch }: InstanceName): InstanceName => ({ slot, epoch });

export const isSameInstance = (one: InstanceName, other: InstanceName): boolean =>
  one.slot === other.slot && one.epoch === other.epoch;

/**
 * This process as one of the servers of a store. Every commit states the instance's name. The store refuses the commit with the reason
 * `fenced` once the instance has ended.
 */
export interface Instance extends InstanceName {
  /** Whether the instance may grant money and report prices now. */
  readonly isCurrent: boolean;
  /** While the instance is not current: one sentence that says what happened and what to do. Otherwise null. */
  readonly fenced: string | null;
  /**
   * How long the instance has reached the store without a break, ms. 0 while it does not reach the store; Infinity for a store in this
   * process. After an outage, other instances also need this time to come back.
   */
  readonly reachedForMs: number;
  /** The store's clock minus the clock that this process started with, ms. */
  readonly clockOffsetMs: number;
  /** The greatest ID that may have been used before this process took its slot; 0 for none. */
  readonly idsAbove: number;
  /** Returns whole ms since 1970 by the store's clock. Never decreases. */
  readonly now: () => number;
  /**
   * Returns the next ID (`core/id.ts`). It is greater than all earlier IDs of this instance, and no other instance uses it, even if clocks
   * jump.
   * @throws StoreError `fenced` if another instance could use the same ID, `crowded` if the ID would be ahead of the clock
   */
  readonly nextId: () => number;
  /**
   * Resolves with whether an instance still owns its work: it may write, or it may come back to finish what it began. Once false, the
   * answer stays false, and other instances take over its work. Rejects with StoreError.
   */
  lives(name: InstanceName): Promise<boolean>;
  /** Ends this instance, so that another process can take its slot at once. `Store.close` calls it. Never rejects. */
  release(): Promise<void>;
}

const NONE = 'only a running server gives IDs; this is a command';

/** The instance of a store that a command has opened. */
export const NO_INSTANCE: Instance = {
  slot: 0,
  epoch: 0,
  isCurrent: false,
  fenced: NONE,
  reachedForMs: 0,
  clockOffsetMs: 0,
  idsAbove: 0,
  now() {
    throw new StoreError(NONE, { reason: 'fenced' });
  },
  nextId() {
    throw new StoreError(NONE, { reason: 'fenced' });
  },
  lives: async () => false,
  release: async () => {},
};
