import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { Fault, faultOf } from '../../src/store/sqlite/fault.ts';

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

/** Makes SQLite fail with a code that the table of faults does not list. */
function unlisted(): unknown {
  using db = new Database(':memory:');
  db.run('CREATE TABLE notes (id INTEGER PRIMARY KEY) STRICT');
  db.run('INSERT INTO notes VALUES (1), (2)');
  return thrownBy(() => {
    for (const _ of db.query('SELECT * FROM notes').iterate()) db.run('DROP TABLE notes');
  });
}

/** Returns SQLite's errors for a second row with the same ID, and for a row that finds no room. */
const listed = (sql: string): unknown => {
  using db = new Database(':memory:');
  db.run('CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT) STRICT');
  db.run('INSERT INTO notes (id) VALUES (1)');
  db.run('PRAGMA max_page_count = 2');
  return thrownBy(() => db.run(sql));
};

function unbindable(): unknown {
  using db = new Database(':memory:');
  return thrownBy(() => Reflect.apply(db.query('SELECT ?').all, db.query('SELECT ?'), [Symbol('no value')]));
}

// A refused write is dropped. With any other fault, the write is kept and retried.
test.each([
  ['an error of SQLite that is not in the table of faults', unlisted(), 'broken'],
  ['an error of SQLite without a code', Object.assign(new Error('?'), { name: 'SQLiteError' }), 'broken'],
  ['an error of the system that is not in the table of faults', thrownBy(() => readFileSync('/')), 'broken'],
  ['a value that cannot be bound', unbindable(), 'refused'],
  ['a bug in the program', new TypeError('undefined is not a function'), 'refused'],
  ['a fault that the store detects itself', new Fault('unmet', 'its condition is not met'), 'unmet'],
  ['a second row with the same ID', listed('INSERT INTO notes (id) VALUES (1)'), 'refused'],
  ['a full disk', listed('INSERT INTO notes (text) VALUES (hex(zeroblob(9999)))'), 'full'],
  ['a full disk, reported by the system', Object.assign(new Error('write'), { code: 'ENOSPC' }), 'full'],
] as const)('the store classifies the database error %s', (_, error, reason) => {
  expect(faultOf(error)).toBe(reason);
});
