import { describe } from 'bun:test';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { recordsMigrations } from '../../src/store/sqlite/records/schema.ts';
import { memoryRecords } from './memory/records.ts';
import { applyAll } from './memory/writes.ts';
import { recordSuite } from './suites/records.ts';
import { tempFolder } from './support.ts';

describe('records in SQLite', () => {
  recordSuite(async () => {
    const folder = tempFolder();
    const store = await openSqlite(folder.file, [recordsMigrations]);
    const close = async () => {
      await store.close();
      folder[Symbol.dispose]();
    };
    return { tables: store.records, commit: (writes) => store.commit(writes), close };
  });
});

describe('records in memory', () => {
  recordSuite(async () => ({
    tables: memoryRecords(),
    commit: async (writes) => applyAll(writes),
    close: async () => {},
  }));
});
