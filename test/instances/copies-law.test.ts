import { afterAll } from 'bun:test';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';
import { tries } from '../deep/effort.ts';
import { tempFolder } from '../store/support.ts';
import { LAW, type Lay, overCopies } from './copies-law.ts';

const folder = tempFolder();
afterAll(() => folder[Symbol.dispose]());

let files = 0;
const layInSqlite: Lay = async () => {
  const file = `${folder.path}/${files++}.db`;
  return () => openSqlite(file, ALL_TABLES);
};

overCopies('SQLite', layInSqlite, tries(LAW, 20, 800), true);
