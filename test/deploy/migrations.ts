import { idempotencyMigrations } from '../../src/access/idempotency/table.ts';
import { accessMigrations } from '../../src/access/key-table.ts';
import { learningMigrations } from '../../src/learning/tables.ts';
import { paymentMigrations } from '../../src/payments/table.ts';
import { recordsMigrations } from '../../src/records/records.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { identityMigrations } from '../../src/store/sqlite/identity.ts';

/** The tables of every room, as a server opens them. */
export const MIGRATIONS = [
  accessMigrations,
  idempotencyMigrations,
  identityMigrations,
  learningMigrations,
  ledgerMigrations,
  paymentMigrations,
  recordsMigrations,
];
