import { type MeasuredCatalog, priorReadings, type Readings } from '../../core/decision/readings.ts';
import { HOUR_MS } from '../../core/time/clock.ts';
import { differencesBy, type ReadingPairs, type ReadingsDifferences, type ReadingsTable } from '../../store/records.ts';
import type { Store, Write } from '../../store/store.ts';

/**
 * The time after which the current readings get a new number, ms. Because of this limit, readings are at most this much older than the
 * decisions that refer to the readings, and can be deleted by number alone.
 */
export const RENEW_MS = HOUR_MS;

/** The number of readings for a record, and the writes to commit with the record's settlement. */
interface ReadingsReference {
  /** The number of the readings; 0 if the readings equal the policy's own figures. */
  readonly number: number;
  readonly writes: readonly Write[];
}

interface ReadingsState extends ReadingsReference {
  readonly numberedAt: number;
  /** The writes are committed with every settlement until the readings are known to be stored. */
  writes: readonly Write[];
  isConfirming: boolean;
}

const NO_WRITES: readonly Write[] = [];
/** Readings that equal the policy's own figures; their `number` is 0. */
export const PRIOR_READINGS: ReadingsReference = { number: 0, writes: NO_WRITES };

/** The readings that decisions used. Readings are written once, before the first record that refers to them. State: readings. */
export class StoredReadings {
  readonly #table: ReadingsTable;
  readonly #store: Pick<Store, 'written'>;
  readonly #now: () => number;
  readonly #states = new WeakMap<Readings, ReadingsState>();

  constructor(table: ReadingsTable, store: Pick<Store, 'written'>, now: () => number) {
    this.#table = table;
    this.#store = store;
    this.#now = now;
  }

  /**
   * Returns the readings for the record of a decision that used other readings than the policy's own figures. The caller must give the
   * writes of the readings to the store at once.
   * @param decision the decision's own number. The readings use this number if no other number is available, because an answer that was
   * made must not fail because of its record.
   */
  refer(readings: Readings, watched: MeasuredCatalog, nextId: () => number, decision: number): ReadingsReference {
    let state = this.#states.get(readings);
    if (!state || this.#now() - state.numberedAt >= RENEW_MS) {
      state = this.#create(readings, watched, nextId, decision);
      this.#states.set(readings, state);
    }
    if (state.writes.length > 0 && !state.isConfirming) void this.#confirm(state);
    return state;
  }

  #create(readings: Readings, watched: MeasuredCatalog, nextId: () => number, decision: number): ReadingsState {
    const differences = differencesOf(readings, watched);
    const number = differences === null ? 0 : numberOr(decision, nextId);
    const writes = differences === null ? NO_WRITES : [this.#table.add(number, differences)];
    return { number, numberedAt: this.#now(), writes, isConfirming: false };
  }

  /**
   * Drops the writes once the readings can be read from the store. They are kept until then, because the store may have rejected the record
   * that the readings were written with.
   */
  async #confirm(state: ReadingsState): Promise<void> {
    state.isConfirming = true;
    try {
      // The caller has already queued the writes of the readings when this code runs.
      await Promise.resolve();
      await this.#store.written();
      if ((await this.#table.find(state.number)) !== null) state.writes = NO_WRITES;
    } catch {
      // If the check of the store fails, the next record makes the check again.
    } finally {
      state.isConfirming = false;
    }
  }
}

function numberOr(own: number, nextId: () => number): number {
  try {
    return nextId();
  } catch {
    return own;
  }
}

/** Returns the readings of a number under the same policy; null if they are not stored. */
export async function findReadings(table: ReadingsTable, number: number, watched: MeasuredCatalog) {
  if (number === 0) return priorReadings(watched);
  const differences = await table.find(number);
  return differences && withDifferences(differences, number, watched);
}

/** @returns null if no reading differs from the policy's own figures */
function differencesOf(readings: Readings, watched: MeasuredCatalog): ReadingsDifferences | null {
  const prior = priorReadings(watched);
  const differences = differencesBy((field) => differingPairs(readings[field], prior[field]));
  return Object.values(differences).some((pairs) => pairs.length > 0) ? differences : null;
}

function differingPairs(values: ArrayLike<number>, prior: ArrayLike<number>): ReadingPairs {
  const pairs: (readonly [number, number])[] = [];
  for (let i = 0; i < values.length; i++) if (!Object.is(values[i], prior[i])) pairs.push([i, values[i]!]);
  return pairs;
}

function withDifferences(differences: ReadingsDifferences, number: number, watched: MeasuredCatalog): Readings {
  const readings = priorReadings(watched);
  for (const field of Object.keys(differences) as (keyof ReadingsDifferences)[]) {
    for (const [index, value] of differences[field]) readings[field][index] = value;
  }
  return { ...readings, number, allHealthy: readings.health.every((state) => state === 0) };
}
