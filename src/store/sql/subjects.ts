import type { SubjectRow, SubjectTable } from '../subjects.ts';
import { first, type SqlReader, sql, write } from './statement.ts';

const COLUMNS = 'id, issuer, sub, name, first_seen AS firstSeen, last_seen AS lastSeen';
const SEE = sql(`INSERT INTO subjects (id, issuer, sub, name, first_seen, last_seen)
    VALUES ($id, $issuer, $sub, $name, $time, $time)
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, last_seen = CASE WHEN subjects.last_seen < excluded.last_seen THEN excluded.last_seen ELSE subjects.last_seen END`);
const SELECT_ONE = sql(`SELECT ${COLUMNS} FROM subjects WHERE id = ?`);
const SELECT_LAST = sql(`SELECT ${COLUMNS} FROM subjects ORDER BY number DESC LIMIT ?`);
const SELECT_BEFORE = sql(`SELECT ${COLUMNS} FROM subjects WHERE number < (SELECT number FROM subjects WHERE id = ?)
    ORDER BY number DESC LIMIT ?`);

export const sqlSubjects = (db: SqlReader): SubjectTable => ({
  see: ({ id, issuer, sub, name }, time) => write(SEE, { id, issuer, sub, name, time }),
  find: (id) => first<SubjectRow>(db, SELECT_ONE, id),
  list: (limit, before) =>
    before === null ? db.query(SELECT_LAST, [limit]) : db.query<SubjectRow>(SELECT_BEFORE, [before, limit]),
});
