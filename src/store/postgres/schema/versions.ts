import type { SchemaVersion } from '../migrate.ts';
import { ACCESS_TABLES, KEY_LIMITS, LINE_OWNERS } from './access.ts';
import { LEDGER_FUNCTIONS, LEDGER_TABLES } from './ledger.ts';
import { RATE_FUNCTIONS, RATE_TABLES } from './rates.ts';
import { RECORD_FUNCTIONS, RECORD_TABLES } from './records.ts';
import { REQUEST_TABLES } from './requests.ts';
import { TRAFFIC_TABLES } from './traffic.ts';

/** Texts are compared by their bytes, as in SQLite, whatever the language of the database. */
const byBytes = (tables: string): string => tables.replaceAll(/ TEXT\b/g, ' TEXT COLLATE "C"');

/** The tables, in versions that are never edited once a server may use them. */
export const SCHEMA: readonly SchemaVersion[] = [
  {
    sql:
      byBytes(ACCESS_TABLES + REQUEST_TABLES + RECORD_TABLES + LEDGER_TABLES + TRAFFIC_TABLES + RATE_TABLES) +
      LEDGER_FUNCTIONS +
      RATE_FUNCTIONS +
      RECORD_FUNCTIONS,
    serves: 1,
  },
  { sql: byBytes(KEY_LIMITS), serves: 1 },
  { sql: byBytes(LINE_OWNERS), serves: 1 },
];
