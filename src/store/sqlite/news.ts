import { type News, NewsDesk, type NewsNumbers, type NewsSubject } from '../news.ts';
import { raiseOf, raising, SELECT_NUMBERS } from '../sql/news.ts';
import type { SqlReader } from '../sql/statement.ts';
import { BASELINE, type Migrations } from './statement.ts';

/** The table has a single row with the numbers of all subjects, so that a poll reads no other row. */
export const NEWS_TABLE: Migrations = {
  room: 'news',
  versions: {
    [BASELINE]: `CREATE TABLE news (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      keys INTEGER NOT NULL DEFAULT 0,
      wallets INTEGER NOT NULL DEFAULT 0,
      funds INTEGER NOT NULL DEFAULT 0,
      budgets INTEGER NOT NULL DEFAULT 0,
      policy INTEGER NOT NULL DEFAULT 0,
      endpoints INTEGER NOT NULL DEFAULT 0,
      instances INTEGER NOT NULL DEFAULT 0,
      people INTEGER NOT NULL DEFAULT 0,
      logins INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO news (id) VALUES (1);`,
  },
};

/**
 * Makes triggers that raise a subject with each change of a table, so that no write of any program can forget to raise the subject.
 * @param more statements for each changed row, after the raise; `NEW` is the row
 */
export const raisedBy = (subject: NewsSubject, table: string, changes: readonly string[], more = ''): string =>
  changes
    .map(
      (
        change,
      ) => `CREATE TRIGGER ${table}_are_news_${change.slice(0, 6).toLowerCase()} AFTER ${change} ON ${table} BEGIN
      ${raising(subject)};${more}
    END;`,
    )
    .join('\n    ');

/**
 * Follows the news of a SQLite database only by polling. The age of copies is 0, because the only other writers are commands, and their
 * changes count from the moment that the server has read them.
 */
export function sqliteNews(db: SqlReader): News {
  const desk = new NewsDesk();
  return {
    raise: raiseOf,
    on: (subject, listener) => desk.on(subject, listener),
    async look() {
      const [numbers] = await db.query<NewsNumbers>(SELECT_NUMBERS);
      if (numbers) await desk.tell(numbers);
    },
    ageOf: () => 0,
    lookEveryMs: 100,
  };
}
