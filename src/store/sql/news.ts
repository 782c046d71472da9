import { NEWS_SUBJECTS, type NewsSubject } from '../news.ts';
import { type SqlWrite, sql, write } from './statement.ts';

/** Reads the single row that has the numbers of all subjects. A poll of the news reads no other row. */
export const SELECT_NUMBERS = sql(`SELECT ${NEWS_SUBJECTS.join(', ')} FROM news`);

/** Returns the statement that raises a subject. */
export const raising = (subject: NewsSubject): string => `UPDATE news SET ${subject} = ${subject} + 1`;

const RAISES = new Map(NEWS_SUBJECTS.map((subject) => [subject, write(sql(raising(subject)))]));

/** Returns the write that raises a subject. */
export const raiseOf = (subject: NewsSubject): SqlWrite => RAISES.get(subject)!;
