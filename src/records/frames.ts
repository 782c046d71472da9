import { priorReadings, type Readings, type Watched } from '../core/readings.ts';
import type { Statement, Store, Write } from '../store/store.ts';

/** Frames of readings by their numbers; see `encodeFrame`. */
export const FRAMES_TABLE = `CREATE TABLE frames (
      number INTEGER PRIMARY KEY,
      figures BLOB NOT NULL
    ) STRICT;`;

const INSERT: Statement = { sql: 'INSERT OR IGNORE INTO frames (number, figures) VALUES (?, ?)' };
const FIND: Statement = { sql: 'SELECT figures FROM frames WHERE number = ?' };

/**
 * A frame that stays the present one gets another number after so long, ms. So none is older than that beside a
 * decision that names it, and what is old can be deleted by the numbers alone.
 */
export const RENEW_MS = 3_600_000;

/** What a frame has of its own. The order is that of the bytes, and may grow at its end alone. */
const FIGURES = allFigures(['ttftMs', 'warmTtftMs', 'tokensPerSecond', 'health', 'retryAt', 'outputTokens']);

type Figure = { [Name in keyof Readings]: Readings[Name] extends ArrayLike<number> ? Name : never }[keyof Readings];

/** One that is forgotten does not compile. */
function allFigures<const L extends readonly Figure[]>(list: Figure extends L[number] ? L : never): L {
  return list;
}

/** What a record says of its frame, and what must be written with it. */
interface Noted {
  /** 0 where nothing differs from what the policy says. */
  readonly number: number;
  readonly writes: readonly Write[];
}

interface Kept extends Noted {
  readonly numberedAt: number;
  /** Go with every record until they are known to be written. */
  writes: readonly Write[];
  isAskedFor: boolean;
}

const NOTHING: readonly Write[] = [];
const PRIOR: Noted = { number: 0, writes: NOTHING };

/** The frames of readings that decisions were made by. Each is written once, with the first record that names it. */
export class Frames {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #kept = new WeakMap<Readings, Kept>();

  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** For the record of a decision that went by these readings; its writes are to be given to the store at once. */
  note(readings: Readings, watched: Watched, nextId: () => number): Noted {
    if (readings.frame === 0) return PRIOR;
    let kept = this.#kept.get(readings);
    if (!kept || this.#now() - kept.numberedAt >= RENEW_MS) {
      kept = this.#numbered(readings, watched, nextId);
      this.#kept.set(readings, kept);
    }
    if (kept.writes.length > 0 && !kept.isAskedFor) void this.#ask(kept);
    return kept;
  }

  #numbered(readings: Readings, watched: Watched, nextId: () => number): Kept {
    const figures = encodeFrame(readings, watched);
    const number = figures === null ? 0 : nextId();
    const writes = figures === null ? NOTHING : [{ statement: INSERT, params: [number, figures] }];
    return { number, numberedAt: this.#now(), writes, isAskedFor: false };
  }

  /** A record may be refused, and its frame with it: only what can be read is written. */
  async #ask(kept: Kept): Promise<void> {
    kept.isAskedFor = true;
    try {
      // The writes that were just handed out come first.
      await Promise.resolve();
      await this.#store.written();
      if ((await this.#store.query(FIND, [kept.number])).length > 0) kept.writes = NOTHING;
    } catch {
      // The next record asks again.
    } finally {
      kept.isAskedFor = false;
    }
  }
}

/** The readings that a frame of this number was made of, for the same policy; null when it is not kept (any more). */
export async function findFrame(
  store: Pick<Store, 'query'>,
  number: number,
  watched: Watched,
): Promise<Readings | null> {
  if (number === 0) return priorReadings(watched);
  const [row] = await store.query<{ figures: Uint8Array }>(FIND, [number]);
  return row ? decodeFrame(row.figures, number, watched) : null;
}

/**
 * What of readings differs from what the policy says: per figure a count, the places, and the values as doubles.
 * Null when nothing does.
 */
function encodeFrame(readings: Readings, watched: Watched): Uint8Array | null {
  const prior = priorReadings(watched);
  const moved = FIGURES.map((figure) => placesOfDifference(readings[figure], prior[figure]));
  const all = moved.reduce((sum, places) => sum + places.length, 0);
  if (all === 0) return null;
  const view = new DataView(new ArrayBuffer(4 * FIGURES.length + 12 * all));
  let at = 0;
  FIGURES.forEach((figure, i) => {
    const places = moved[i]!;
    view.setUint32(at, places.length);
    at += 4;
    for (const place of places) {
      view.setUint32(at, place);
      view.setFloat64(at + 4, readings[figure][place]!);
      at += 12;
    }
  });
  return new Uint8Array(view.buffer);
}

function placesOfDifference(values: ArrayLike<number>, prior: ArrayLike<number>): number[] {
  const places: number[] = [];
  for (let i = 0; i < values.length; i++) if (!Object.is(values[i], prior[i])) places.push(i);
  return places;
}

/** Reads what `encodeFrame` wrote. Figures that it does not have are as the policy says. */
function decodeFrame(bytes: Uint8Array, number: number, watched: Watched): Readings {
  const readings = priorReadings(watched);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  for (const figure of FIGURES) {
    if (at >= bytes.byteLength) break;
    const end = at + 4 + 12 * view.getUint32(at);
    for (at += 4; at < end; at += 12) readings[figure][view.getUint32(at)] = view.getFloat64(at + 4);
  }
  return { ...readings, frame: number, allHealthy: readings.health.every((state) => state === 0) };
}
