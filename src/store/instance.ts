import { StoreError } from './store.ts';

/** One run of a server, as rows name their owner. No other run on the same store has the same name. */
export interface InstanceName {
  /** 0 to 127. It keeps IDs of instances that run at once apart. */
  readonly slot: number;
  /** Grows with each run that takes the slot. */
  readonly epoch: number;
}

/** A copy of a name, for a row: those of an `Instance` change when the process takes a new epoch. */
export const nameOf = ({ slot, epoch }: InstanceName): InstanceName => ({ slot, epoch });

export const isSameInstance = (one: InstanceName, other: InstanceName): boolean =>
  one.slot === other.slot && one.epoch === other.epoch;

/** The place of this process among the servers of a store. Every commit states its name, and is refused (`fenced`) once it has ended. */
export interface Instance extends InstanceName {
  /** Whether it may grant money and tell prices now. */
  readonly isCurrent: boolean;
  /** While it is not current, one sentence on what happened and what to do; else null. */
  readonly fenced: string | null;
  /**
   * For how long it has reached the store without a break, ms. 0 while the store is away; Infinity for a store in this process. Others
   * that lost the store with it need as long as it to come back.
   */
  readonly reachedForMs: number;
  /** The store's clock less the clock that this process started with, ms. */
  readonly clockOffsetMs: number;
  /** No ID that was given before this process took its place is greater; 0 for none. */
  readonly idsAbove: number;
  /** Whole ms since 1970 by the store's clock. Never goes back. */
  readonly now: () => number;
  /**
   * The next ID (`core/id.ts`): greater than all before it, and given by no other instance, whatever the clock does.
   * @throws StoreError `fenced` when another instance may give the same, `crowded` when it would be ahead of the clock.
   */
  readonly nextId: () => number;
  /**
   * Resolves with whether the work of an instance is its own: it may write, or it may come back to end what it began. Once false it
   * stays so, and others take over.
   * Rejects with StoreError.
   */
  lives(name: InstanceName): Promise<boolean>;
  /** Ends this instance: another may take its slot at once. `Store.close` calls it. Never rejects. */
  release(): Promise<void>;
}

const NONE = 'a command is no instance: only a server gives IDs';

/** For a store that a command opened. */
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
