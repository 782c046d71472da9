import { messageOf } from '../../core/thrown.ts';
import type { StoreExamination } from '../driver.ts';
import type { ExaminationOrder, ExaminationReply } from './examine.ts';
import { failureOf } from './fault.ts';
import { openReadable } from './reader.ts';

/** The most faults that are named. */
const FAULTS_MAX = 5;

/** Examines a database outside the event loop: the worker receives one message and sends one. `examine.ts` starts it. */
declare const self: {
  onmessage: ((event: { readonly data: ExaminationOrder }) => void) | null;
  postMessage(reply: ExaminationReply): void;
};

self.onmessage = ({ data }) => {
  try {
    self.postMessage(examine(data));
  } catch (error) {
    self.postMessage({ error: messageOf(failureOf(`Cannot read the database ${data.path}`, error)) });
  }
};

/** Reads table after table, so that the time limit also ends the examination of a large database. */
function examine({ path, withinMs }: ExaminationOrder): StoreExamination {
  const until = performance.now() + withinMs;
  const db = openReadable(path);
  try {
    const version = db.query<{ version: string }, []>('SELECT sqlite_version() AS version').get()?.version ?? '';
    const tables = db
      .query<{ name: string }, []>(`SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0`)
      .all();
    const faults: string[] = [];
    let read = 0;
    for (const { name } of tables) {
      if (performance.now() >= until || faults.length >= FAULTS_MAX) break;
      // The argument of a pragma cannot be bound.
      const quoted = name.replaceAll("'", "''");
      const check = db.query<{ quick_check: string }, []>(`PRAGMA quick_check('${quoted}')`);
      const found = check.all().map((row) => row.quick_check);
      faults.push(...found.filter((text) => text !== 'ok').map((text) => `table ${name}: ${text}`));
      read++;
    }
    const named = faults.slice(0, FAULTS_MAX);
    return { engine: `SQLite ${version}`, faults: named, tables: { read, all: tables.length }, connections: null };
  } finally {
    db.close();
  }
}
