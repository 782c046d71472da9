import type { Timer, Timers } from '../../core/time/timers.ts';
import { NEWS_SUBJECTS, type News, NewsDesk, type NewsNumbers, type NewsSubject } from '../news.ts';
import { raiseOf, SELECT_NUMBERS } from '../sql/news.ts';
import type { SqlReader } from '../sql/statement.ts';
import type { Connection } from './connection.ts';

/** The channel of notifications. A notification contains only the subject of the news. */
export const NEWS_CHANNEL = 'signalbox_news';
/** Notifications that arrive within this time cause one poll, ms. */
const GATHER_MS = 5;
/** The interval of polls, ms. An instance notices news whose notification was lost after at most this time. */
const LOOK_EVERY_MS = 500;
/** The pause before the connection for notifications is opened again after it was lost, ms. */
const LISTEN_AGAIN_MS = 500;

export interface PostgresNews extends News {
  /** Listens for notifications on a connection of its own, until `close`. While that connection is lost, polls continue. */
  listen(): void;
  close(): Promise<void>;
}

export interface PostgresNewsOptions {
  /** Opens the connection for notifications. */
  readonly open: () => Promise<Connection>;
  /** Returns a time in ms that never goes back. */
  readonly clock: () => number;
  readonly timers: Timers;
  /** A function that is called when the database does not answer, or when the connection for notifications is lost. */
  readonly onAway: () => void;
}

/**
 * Follows the news of the database. The caller polls with `look`; a notification of PostgreSQL only makes the next poll earlier, because a
 * notification may come late, twice or never. State: news.
 */
export function postgresNews(db: SqlReader, { open, clock, timers, onAway }: PostgresNewsOptions): PostgresNews {
  const desk = new NewsDesk();
  let isClosed = false;
  let connection: Connection | null = null;
  let due: Timer | null = null;

  const look = async (): Promise<void> => {
    const at = clock();
    const [numbers] = await db.query<NewsNumbers>(SELECT_NUMBERS).catch((error) => {
      onAway();
      throw error;
    });
    if (numbers) await desk.tell(numbers, at);
  };
  const heard = (subject: string): void => {
    if (isClosed || !NEWS_SUBJECTS.some((one) => one === subject)) return;
    due ??= timers.after(GATHER_MS, () => {
      due = null;
      // If this poll fails, the next regular poll finds the news.
      look().catch(() => {});
    });
  };
  const listen = async (): Promise<void> => {
    try {
      const opened = await open();
      if (isClosed) return await opened.close();
      connection = opened;
      opened.onLost(() => {
        again();
        onAway();
      });
      await opened.listen(NEWS_CHANNEL, heard);
      // Notifications from before the new connection were not received, so the database is polled.
      await look().catch(() => {});
    } catch {
      if (connection) void connection.close();
      else again();
    }
  };
  const again = (): void => {
    connection = null;
    if (!isClosed) timers.after(LISTEN_AGAIN_MS, () => void listen()).unref();
  };

  return {
    raise: (subject: NewsSubject) => raiseOf(subject),
    on: (subject, listener) => desk.on(subject, listener),
    look,
    lookEveryMs: LOOK_EVERY_MS,
    ageOf: (subject) => desk.ageOf(subject, clock()),
    listen: () => void listen(),
    async close() {
      isClosed = true;
      due?.close();
      await connection?.close();
    },
  };
}
