import type { BlocklistTable, PendingSettlementTable, QuoteSecretTable } from '../payments.ts';
import { type SqlReader, type Statement, write } from './statement.ts';

const SELECT_BLOCKED: Statement = { sql: 'SELECT address FROM blocked_wallets' };
const PUT_BLOCKED: Statement = {
  sql: `INSERT INTO blocked_wallets (address, note, time) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET note = excluded.note, time = excluded.time`,
};
const DELETE_BLOCKED: Statement = { sql: 'DELETE FROM blocked_wallets WHERE address = ?' };

export const sqliteBlocklist = (db: SqlReader): BlocklistTable => ({
  all: async () => (await db.query<{ address: string }>(SELECT_BLOCKED)).map(({ address }) => address),
  put: (wallet, note, time) => write(PUT_BLOCKED, wallet, note, time),
  delete: (wallet) => write(DELETE_BLOCKED, wallet),
});

const SELECT_PENDING: Statement = { sql: 'SELECT value FROM pending_settlements WHERE key = ?' };
const PUT_PENDING: Statement = {
  sql: `INSERT INTO pending_settlements (key, value, time) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET value = excluded.value, time = excluded.time`,
};
const DELETE_PENDING: Statement = { sql: 'DELETE FROM pending_settlements WHERE key = ?' };
const DELETE_PENDING_BEFORE: Statement = { sql: 'DELETE FROM pending_settlements WHERE time < ?' };

export const sqlitePendingSettlements = (db: SqlReader): PendingSettlementTable => ({
  get: async (key) => (await db.query<{ value: string }>(SELECT_PENDING, [key]))[0]?.value ?? null,
  put: (key, value, time) => write(PUT_PENDING, key, value, time),
  delete: (key) => write(DELETE_PENDING, key),
  deleteBefore: (time) => write(DELETE_PENDING_BEFORE, time),
});

const SELECT_SECRET: Statement = { sql: 'SELECT secret FROM payment_secret' };
const PUT_SECRET_ONCE: Statement = {
  sql: 'INSERT INTO payment_secret (id, secret) VALUES (1, ?) ON CONFLICT DO NOTHING',
};

export const sqliteQuoteSecret = (db: SqlReader): QuoteSecretTable => ({
  get: async () => (await db.query<{ secret: Uint8Array }>(SELECT_SECRET))[0]?.secret ?? null,
  putOnce: (secret) => write(PUT_SECRET_ONCE, secret),
});
