import { StoreError } from '../store.ts';
import type { Connection, PostgresValue } from './connection.ts';
import { failureOf, isLoss } from './fault.ts';

/** The number of statements that may wait on a connection before further statements are refused. */
const WAITING_MAX = 1_000;

/** A connection, or room for a connection, with the number of statements that wait on it. */
interface Place {
  connection: Promise<Connection> | null;
  waiting: number;
}

/**
 * A pool of connections for single statements that may safely run twice. Each statement goes to the connection with the fewest waiting
 * statements. A lost connection is replaced. State: database readers.
 */
export class PostgresReaders {
  readonly #open: () => Promise<Connection>;
  readonly #places: Place[];
  #isClosed = false;

  /** @param size the maximum number of connections; each is opened when it is first needed */
  constructor(open: () => Promise<Connection>, size: number) {
    this.#open = open;
    this.#places = Array.from({ length: size }, () => ({ connection: null, waiting: 0 }));
  }

  /**
   * Runs a read. If the connection is lost before the answer, the statement of the read is sent again, at least once on a new connection.
   * @throws StoreError by rejecting
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
          // If the database refuses further connections, the statement uses an existing connection.
          if (isFull || !this.#places.some(({ connection }) => connection !== null)) throw cause;
          isFull = true;
          continue;
        }
        // The failed statement may report the loss of the connection earlier than the connection itself does.
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

  /**
   * Chooses a connection. A new connection is better than a queue, but an idle connection is better than a new connection.
   * @param isFull true if the database refuses further connections
   */
  #freest(isFull: boolean): Place {
    if (this.#isClosed) throw new StoreError('the store is closed', { reason: 'closed' });
    const loadOf = ({ connection, waiting }: Place) => (connection !== null ? waiting : isFull ? WAITING_MAX : 0.5);
    const best = this.#places.reduce((least, place) => (loadOf(place) < loadOf(least) ? place : least));
    if (best.waiting >= WAITING_MAX)
      throw new StoreError('too many statements wait for the database', { reason: 'crowded' });
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
