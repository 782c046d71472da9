import { raisedBy } from './news.ts';
import { BASELINE, type Migrations } from './statement.ts';

/**
 * Each payment has a single permanent row. The trigger on payments is the ledger's last protection: a deposit is committed together with
 * the change to `captured`, so a second deposit for the same payment fails.
 */
export const paymentMigrations: Migrations = {
  room: 'payments',
  versions: {
    [BASELINE]: `CREATE TABLE payments (
      id INTEGER PRIMARY KEY,
      state TEXT NOT NULL CHECK (state IN ('settling', 'captured', 'settled', 'unknown', 'failed')),
      purpose TEXT NOT NULL CHECK (purpose IN ('chat', 'topup', 'keys')),
      network TEXT NOT NULL,
      asset TEXT NOT NULL,
      pay_to TEXT NOT NULL,
      payer TEXT NOT NULL,
      nonce TEXT NOT NULL,
      amount TEXT NOT NULL,
      paid INTEGER NOT NULL CHECK (paid >= 0),
      fee INTEGER NOT NULL CHECK (fee >= 0),
      bound INTEGER NOT NULL CHECK (bound >= 0),
      charged INTEGER CHECK (charged >= 0),
      decision INTEGER,
      key_id TEXT,
      quote TEXT NOT NULL,
      request_mark TEXT NOT NULL,
      valid_before INTEGER NOT NULL,
      tx TEXT,
      error TEXT,
      created INTEGER NOT NULL,
      updated INTEGER NOT NULL,
      -- The instance that settles a payment or runs its request. Without one, a captured payment was left by an instance that has ended.
      slot INTEGER,
      epoch INTEGER,
      UNIQUE (network, asset, payer, nonce)
    ) STRICT;
    CREATE INDEX payments_by_payer ON payments (payer, id);
    CREATE INDEX payments_under_way ON payments (state, id) WHERE state IN ('settling', 'captured', 'unknown');
    -- A settlement that comes after its payment was abandoned still tells what was charged.
    CREATE TRIGGER payments_arrive_once BEFORE UPDATE OF state ON payments
      WHEN OLD.state IN ('captured', 'settled') AND NEW.state <> 'settled'
      BEGIN SELECT RAISE(ABORT, 'this payment has arrived already'); END;
    CREATE TABLE pending_settlements (
      key TEXT PRIMARY KEY,
      value TEXT NOT NULL,
      time INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE blocked_wallets (
      address TEXT PRIMARY KEY,
      note TEXT NOT NULL,
      time INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE payment_secret (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      secret BLOB NOT NULL CHECK (length(secret) = 32)
    ) STRICT;
    ${raisedBy('wallets', 'blocked_wallets', ['INSERT', 'UPDATE', 'DELETE'])}
    CREATE TABLE gas_nonces (
      key TEXT PRIMARY KEY,
      nonce INTEGER NOT NULL,
      time INTEGER NOT NULL,
      slot INTEGER NOT NULL,
      epoch INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;`,
  },
};
