import type { Timer, Timers } from '../../core/timers.ts';
import { NEWS_SUBJECTS, type News, NewsDesk, type NewsNumbers, type NewsSubject } from '../news.ts';
import { raiseOf, SELECT_NUMBERS } from '../sql/news.ts';
import type { SqlReader } from '../sql/statement.ts';
import type { Connection } from './connection.ts';

/** The channel of messages, which say the subject alone. */
export const NEWS_CHANNEL = 'signalbox_news';
/** Messages that come together are one look. */
const GATHER_MS = 5;
/** A lost message costs as much, ms. */
const LOOK_EVERY_MS = 500;
/** Pause before messages are listened for again. */
const LISTEN_AGAIN_MS = 500;

export interface PostgresNews extends News {
  /** Listens for messages, on a connection of its own, until `close`. Looks go on without. */
  listen(): void;
  close(): Promise<void>;
}

export interface PostgresNewsOptions {
  /** Opens a connection, which is listened on. */
  readonly open: () => Promise<Connection>;
  /** Ms, never goes back. */
  readonly clock: () => number;
  readonly timers: Timers;
  /** Called when the database does not answer, or the connection to it is lost. */
  readonly onAway: () => void;
}

/**
 * Follows the news by looks, which the caller makes, and by messages, which only say that a look is due: a message may come late, twice
 * or never. State: news.
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
      // The next look is the net.
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
      // Of what was said before, nothing was heard.
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
