import { type MeasuredCatalog, priorReadings, type Readings } from '../core/readings.ts';
import { type FrameDifferences, type FramePairs, type FrameTable, frameBy } from '../store/records.ts';
import type { Store, Write } from '../store/store.ts';

/**
 * A current frame gets a new number after this long, ms. So a frame is at most this much older than the decisions that
 * name it, and can be deleted by number alone.
 */
export const RENEW_MS = 3_600_000;

/** The frame number for a record, and the writes to commit with its settlement. */
interface FrameReference {
  /** 0 if the readings equal those of the policy. */
  readonly number: number;
  readonly writes: readonly Write[];
}

interface FrameState extends FrameReference {
  readonly numberedAt: number;
  /** Committed with every settlement until they are known to be stored. */
  writes: readonly Write[];
  isConfirming: boolean;
}

const NO_WRITES: readonly Write[] = [];
/** The frame of readings that equal those of the policy: their `frame` is 0. */
export const PRIOR_FRAME: FrameReference = { number: 0, writes: NO_WRITES };

/** The frames of readings behind decisions. Each is written once, before the first record that names it. */
export class FrameStore {
  readonly #table: FrameTable;
  readonly #store: Pick<Store, 'written'>;
  readonly #now: () => number;
  readonly #states = new WeakMap<Readings, FrameState>();

  constructor(table: FrameTable, store: Pick<Store, 'written'>, now: () => number) {
    this.#table = table;
    this.#store = store;
    this.#now = now;
  }

  /** Returns the frame for the record of a decision by other readings than the policy's. The caller must give its writes to the store at once. */
  refer(readings: Readings, watched: MeasuredCatalog, nextId: () => number): FrameReference {
    let state = this.#states.get(readings);
    if (!state || this.#now() - state.numberedAt >= RENEW_MS) {
      state = this.#create(readings, watched, nextId);
      this.#states.set(readings, state);
    }
    if (state.writes.length > 0 && !state.isConfirming) void this.#confirm(state);
    return state;
  }

  #create(readings: Readings, watched: MeasuredCatalog, nextId: () => number): FrameState {
    const differences = differencesOf(readings, watched);
    const number = differences === null ? 0 : nextId();
    const writes = differences === null ? NO_WRITES : [this.#table.add(number, differences)];
    return { number, numberedAt: this.#now(), writes, isConfirming: false };
  }

  /** Drops the writes once the frame can be read: its record may have been rejected. */
  async #confirm(state: FrameState): Promise<void> {
    state.isConfirming = true;
    try {
      // Lets the caller queue the writes first.
      await Promise.resolve();
      await this.#store.written();
      if ((await this.#table.find(state.number)) !== null) state.writes = NO_WRITES;
    } catch {
      // The next record tries again.
    } finally {
      state.isConfirming = false;
    }
  }
}

/** The readings of a frame under the same policy; null if it is not stored, or no longer. */
export async function findFrame(table: FrameTable, number: number, watched: MeasuredCatalog): Promise<Readings | null> {
  if (number === 0) return priorReadings(watched);
  const differences = await table.find(number);
  return differences && withDifferences(differences, number, watched);
}

/** Null if no reading differs from the policy's. */
function differencesOf(readings: Readings, watched: MeasuredCatalog): FrameDifferences | null {
  const prior = priorReadings(watched);
  const differences = frameBy((field) => differingPairs(readings[field], prior[field]));
  return Object.values(differences).some((pairs) => pairs.length > 0) ? differences : null;
}

function differingPairs(values: ArrayLike<number>, prior: ArrayLike<number>): FramePairs {
  const pairs: (readonly [number, number])[] = [];
  for (let i = 0; i < values.length; i++) if (!Object.is(values[i], prior[i])) pairs.push([i, values[i]!]);
  return pairs;
}

function withDifferences(differences: FrameDifferences, number: number, watched: MeasuredCatalog): Readings {
  const readings = priorReadings(watched);
  for (const field of Object.keys(differences) as (keyof FrameDifferences)[]) {
    for (const [index, value] of differences[field]) readings[field][index] = value;
  }
  return { ...readings, frame: number, allHealthy: readings.health.every((state) => state === 0) };
}
