import type { InstanceName } from '../instance.ts';
import type {
  BlocklistTable,
  GasNonceTable,
  PendingSettlementTable,
  QuoteSecretTable,
  TakenNonce,
} from '../payments.ts';
import { first, type SqlReader, sql, write } from './statement.ts';

const SELECT_BLOCKED = sql('SELECT address FROM blocked_wallets');
const PUT_BLOCKED = sql(
  `INSERT INTO blocked_wallets (address, note, time) VALUES (?, ?, ?)
    ON CONFLICT (address) DO UPDATE SET note = excluded.note, time = excluded.time WHERE blocked_wallets.note <> excluded.note`,
  { mustChange: true },
);
const DELETE_BLOCKED = sql('DELETE FROM blocked_wallets WHERE address = ?', { mustChange: true });

export const sqlBlocklist = (db: SqlReader): BlocklistTable => ({
  all: async () => (await db.query<{ address: string }>(SELECT_BLOCKED)).map(({ address }) => address),
  put: (wallet, note, time) => write(PUT_BLOCKED, wallet, note, time),
  delete: (wallet) => write(DELETE_BLOCKED, wallet),
});

const SELECT_PENDING = sql('SELECT value FROM pending_settlements WHERE key = ?');
const PUT_PENDING = sql(`INSERT INTO pending_settlements (key, value, time) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, time = excluded.time`);
const DELETE_PENDING = sql('DELETE FROM pending_settlements WHERE key = ?');
const DELETE_PENDING_BEFORE = sql('DELETE FROM pending_settlements WHERE time < ?');

export const sqlPendingSettlements = (db: SqlReader): PendingSettlementTable => ({
  get: async (key) => (await first<{ value: string }>(db, SELECT_PENDING, key))?.value ?? null,
  put: (key, value, time) => write(PUT_PENDING, key, value, time),
  delete: (key) => write(DELETE_PENDING, key),
  deleteBefore: (time) => write(DELETE_PENDING_BEFORE, time),
});

const SELECT_SECRET = sql('SELECT secret FROM payment_secret');
const PUT_SECRET_ONCE = sql('INSERT INTO payment_secret (id, secret) VALUES (1, ?) ON CONFLICT DO NOTHING');

export const sqlQuoteSecret = (db: SqlReader): QuoteSecretTable => ({
  get: async () => (await first<{ secret: Uint8Array }>(db, SELECT_SECRET))?.secret ?? null,
  putOnce: (secret) => write(PUT_SECRET_ONCE, secret),
});

const SELECT_NONCE = sql('SELECT nonce, time, slot, epoch FROM gas_nonces WHERE key = ?');
const TAKE_FIRST = sql(
  'INSERT INTO gas_nonces (key, nonce, time, slot, epoch) VALUES ($key, $nonce, $time, $slot, $epoch) ON CONFLICT DO NOTHING',
  { mustChange: true },
);
const TAKE_NEXT = sql(
  `UPDATE gas_nonces SET nonce = $nonce, time = $time, slot = $slot, epoch = $epoch
    WHERE key = $key AND nonce = $seenNonce AND time = $seenTime AND slot = $seenSlot AND epoch = $seenEpoch`,
  { mustChange: true },
);
const RELEASE = sql('DELETE FROM gas_nonces WHERE key = ? AND nonce = ? AND time = ? AND slot = ? AND epoch = ?');

type NonceRow = Omit<TakenNonce, 'owner'> & InstanceName;

export const sqlGasNonces = (db: SqlReader): GasNonceTable => ({
  async find(key) {
    const row = await first<NonceRow>(db, SELECT_NONCE, key);
    return row && { nonce: row.nonce, time: row.time, owner: { slot: row.slot, epoch: row.epoch } };
  },
  take(key, { nonce, time, owner }, seen) {
    const taken = { key, nonce, time, ...owner };
    if (seen === null) return write(TAKE_FIRST, taken);
    const { slot: seenSlot, epoch: seenEpoch } = seen.owner;
    return write(TAKE_NEXT, { ...taken, seenNonce: seen.nonce, seenTime: seen.time, seenSlot, seenEpoch });
  },
  release: (key, { nonce, time, owner: { slot, epoch } }) => write(RELEASE, key, nonce, time, slot, epoch),
});
