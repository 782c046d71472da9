import { type MeasuredCatalog, priorReadings, type Readings } from '../core/readings.ts';
import type { Statement, Store, Write } from '../store/store.ts';

/** Frames of readings by number; see `encodeFrame`. */
export const FRAMES_TABLE = `CREATE TABLE frames (
      number INTEGER PRIMARY KEY,
      figures BLOB NOT NULL
    ) STRICT;`;

const INSERT: Statement = { sql: 'INSERT OR IGNORE INTO frames (number, figures) VALUES (?, ?)' };
const FIND: Statement = { sql: 'SELECT figures FROM frames WHERE number = ?' };

/**
 * A current frame gets a new number after this long, ms. So a frame is at most this much older than the decisions that
 * name it, and can be deleted by number alone.
 */
export const RENEW_MS = 3_600_000;

/** The readings stored in a frame, in byte order. May only grow at its end. */
const FRAME_FIELDS = allFields(['ttftMs', 'warmTtftMs', 'tokensPerSecond', 'health', 'retryAt', 'outputTokens']);

type FrameField = { [Name in keyof Readings]: Readings[Name] extends ArrayLike<number> ? Name : never }[keyof Readings];

/** A missing field does not compile. */
function allFields<const L extends readonly FrameField[]>(list: FrameField extends L[number] ? L : never): L {
  return list;
}

/** The frame number for a record, and the writes to commit with it. */
interface FrameReference {
  /** 0 if the readings equal those of the policy. */
  readonly number: number;
  readonly writes: readonly Write[];
}

interface FrameState extends FrameReference {
  readonly numberedAt: number;
  /** Committed with every record until they are known to be stored. */
  writes: readonly Write[];
  isConfirming: boolean;
}

const NO_WRITES: readonly Write[] = [];
const PRIOR: FrameReference = { number: 0, writes: NO_WRITES };

/** The frames of readings behind decisions. Each is written once, with the first record that names it. */
export class FrameStore {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #states = new WeakMap<Readings, FrameState>();

  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** Returns the frame for the record of a decision. The caller must give its writes to the store at once. */
  refer(readings: Readings, watched: MeasuredCatalog, nextId: () => number): FrameReference {
    if (readings.frame === 0) return PRIOR;
    let state = this.#states.get(readings);
    if (!state || this.#now() - state.numberedAt >= RENEW_MS) {
      state = this.#create(readings, watched, nextId);
      this.#states.set(readings, state);
    }
    if (state.writes.length > 0 && !state.isConfirming) void this.#confirm(state);
    return state;
  }

  #create(readings: Readings, watched: MeasuredCatalog, nextId: () => number): FrameState {
    const figures = encodeFrame(readings, watched);
    const number = figures === null ? 0 : nextId();
    const writes = figures === null ? NO_WRITES : [{ statement: INSERT, params: [number, figures] }];
    return { number, numberedAt: this.#now(), writes, isConfirming: false };
  }

  /** Drops the writes once the frame can be read: its record may have been rejected. */
  async #confirm(state: FrameState): Promise<void> {
    state.isConfirming = true;
    try {
      // Lets the caller queue the writes first.
      await Promise.resolve();
      await this.#store.written();
      if ((await this.#store.query(FIND, [state.number])).length > 0) state.writes = NO_WRITES;
    } catch {
      // The next record tries again.
    } finally {
      state.isConfirming = false;
    }
  }
}

/** The readings of a frame under the same policy; null if it is not stored, or no longer. */
export async function findFrame(
  store: Pick<Store, 'query'>,
  number: number,
  watched: MeasuredCatalog,
): Promise<Readings | null> {
  if (number === 0) return priorReadings(watched);
  const [row] = await store.query<{ figures: Uint8Array }>(FIND, [number]);
  return row ? decodeFrame(row.figures, number, watched) : null;
}

/**
 * Encodes the readings that differ from the policy's: for each field a count, then the indexes with the values as
 * doubles. Null if none differ.
 */
function encodeFrame(readings: Readings, watched: MeasuredCatalog): Uint8Array | null {
  const prior = priorReadings(watched);
  const moved = FRAME_FIELDS.map((figure) => differingIndexes(readings[figure], prior[figure]));
  const all = moved.reduce((sum, indexes) => sum + indexes.length, 0);
  if (all === 0) return null;
  const view = new DataView(new ArrayBuffer(4 * FRAME_FIELDS.length + 12 * all));
  let at = 0;
  FRAME_FIELDS.forEach((figure, i) => {
    const indexes = moved[i]!;
    view.setUint32(at, indexes.length);
    at += 4;
    for (const index of indexes) {
      view.setUint32(at, index);
      view.setFloat64(at + 4, readings[figure][index]!);
      at += 12;
    }
  });
  return new Uint8Array(view.buffer);
}

function differingIndexes(values: ArrayLike<number>, prior: ArrayLike<number>): number[] {
  const indexes: number[] = [];
  for (let i = 0; i < values.length; i++) if (!Object.is(values[i], prior[i])) indexes.push(i);
  return indexes;
}

/** Decodes the bytes of `encodeFrame`. Absent fields are as in the policy. */
function decodeFrame(bytes: Uint8Array, number: number, watched: MeasuredCatalog): Readings {
  const readings = priorReadings(watched);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  for (const figure of FRAME_FIELDS) {
    if (at >= bytes.byteLength) break;
    const end = at + 4 + 12 * view.getUint32(at);
    for (at += 4; at < end; at += 12) readings[figure][view.getUint32(at)] = view.getFloat64(at + 4);
  }
  return { ...readings, frame: number, allHealthy: readings.health.every((state) => state === 0) };
}
