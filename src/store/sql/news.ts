import { NEWS_SUBJECTS, type NewsSubject } from '../news.ts';
import { type SqlWrite, sql, write } from './statement.ts';

/** One row of numbers: a look reads no more. */
export const SELECT_NUMBERS = sql(`SELECT ${NEWS_SUBJECTS.join(', ')} FROM news`);

/** The statement that raises a subject. */
export const raising = (subject: NewsSubject): string => `UPDATE news SET ${subject} = ${subject} + 1`;

const RAISES = new Map(NEWS_SUBJECTS.map((subject) => [subject, write(sql(raising(subject)))]));

/** The write that raises a subject. */
export const raiseOf = (subject: NewsSubject): SqlWrite => RAISES.get(subject)!;
