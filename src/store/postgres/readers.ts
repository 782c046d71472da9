import { StoreError } from '../store.ts';
import type { Connection, PostgresValue } from './connection.ts';
import { failureOf, isLoss } from './fault.ts';

/** Statements that wait on one connection at most, before more are refused. */
const WAITING_MAX = 1_000;

/** Of one connection. */
interface Place {
  connection: Promise<Connection> | null;
  waiting: number;
}

/** Connections for single statements that may be done twice. Each goes to the one with least to do; a lost one is replaced. State: database readers. */
export class PostgresReaders {
  readonly #open: () => Promise<Connection>;
  readonly #places: Place[];
  #isClosed = false;

  /** @param size connections at most; none is opened before it is needed */
  constructor(open: () => Promise<Connection>, size: number) {
    this.#open = open;
    this.#places = Array.from({ length: size }, () => ({ connection: null, waiting: 0 }));
  }

  /**
   * Reads rows. A statement whose connection is lost before it is answered is sent again, until it was sent on a new one.
   * Rejects with StoreError.
   */
  async read<Row>(text: string, values: readonly PostgresValue[] = []): Promise<Row[]> {
    let isFull = false;
    for (let tries = this.#places.length; ; tries--) {
      const place = this.#freest(isFull);
      place.waiting++;
      place.connection ??= this.#connect(place);
      const opening = place.connection;
      try {
        return (await (await opening).run<Row>(text, values)).rows;
      } catch (cause) {
        if (cause instanceof StoreError) {
          // The database may give no more connections than there are.
          if (isFull || !this.#places.some(({ connection }) => connection !== null)) throw cause;
          isFull = true;
          continue;
        }
        // The driver tells of a loss by an answer before the connection itself does.
        if (isLoss(cause) && place.connection === opening) forget(place);
        if (!isLoss(cause) || tries === 0 || this.#isClosed) throw failureOf('the database cannot be read', cause);
      } finally {
        place.waiting--;
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#places.map(({ connection }) => connection?.then((open) => open.close()).catch(() => {})));
  }

  /** A new connection is better than a line behind others, and worse than an idle one. @param isFull whether there is none to be had */
  #freest(isFull: boolean): Place {
    if (this.#isClosed) throw new StoreError('the store is closed', { reason: 'closed' });
    const loadOf = ({ connection, waiting }: Place) => (connection !== null ? waiting : isFull ? WAITING_MAX : 0.5);
    const best = this.#places.reduce((least, place) => (loadOf(place) < loadOf(least) ? place : least));
    if (best.waiting >= WAITING_MAX) throw new StoreError('too much waits for the database', { reason: 'crowded' });
    return best;
  }

  async #connect(place: Place): Promise<Connection> {
    try {
      const connection = await this.#open();
      const opening = place.connection;
      connection.onLost(() => place.connection === opening && forget(place));
      return connection;
    } catch (cause) {
      place.connection = null;
      throw cause;
    }
  }
}

function forget(place: Place): void {
  void place.connection?.then((lost) => lost.close());
  place.connection = null;
}
