import { StoreError } from './store.ts';

/**
 * The name of a run of a server. Rows of the store name their owner with this name. No two runs of servers on the same store ever get the
 * same name.
 */
export interface InstanceName {
  /** The slot of the server, from 0 to 127. Two instances that run at the same time have different slots, so their IDs differ. */
  readonly slot: number;
  /** The epoch, which grows each time that a process takes the slot. */
  readonly epoch: number;
}

/**
 * Copies the name of an instance, for a row of the store. The copy is needed because the name of an `Instance` changes when its process
 * takes a new epoch.
 */
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
  /** While the instance is not current: one sentence that says what happened and what to do. Null while the instance is current. */
  readonly fenced: string | null;
  /**
   * How long the instance has reached the store without a break, ms. 0 while the instance does not reach the store; Infinity for a store in
   * this process. After an outage of the store, other instances also need time to come back.
   */
  readonly reachedForMs: number;
  /** The store's clock minus the clock that this process started with, ms. */
  readonly clockOffsetMs: number;
  /** The greatest ID that may have been used before this process took its slot; 0 for none. */
  readonly idsAbove: number;
  /** Returns whole ms since 1970 by the store's clock. Never decreases. */
  readonly now: () => number;
  /**
   * Returns the next ID (`core/id.ts`). The new ID is greater than all earlier IDs of this instance, and no other instance uses it, even if
   * clocks jump.
   * @throws StoreError `fenced` if another instance could use the same ID, `crowded` if the ID would be ahead of the clock
   */
  readonly nextId: () => number;
  /**
   * Resolves with whether an instance still owns its work: the instance may write, or may come back to finish its work. Once the answer is
   * false, it stays false, and other instances take over the work of that instance. Rejects with StoreError.
   */
  lives(name: InstanceName): Promise<boolean>;
  /** Ends this instance, so that another process can take its slot at once. `Store.close` calls this method, which never rejects. */
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
