import type { Microcredits } from '../../../core/money/credits.ts';
import type { AccountRow } from '../../account-row.ts';
import { type SqlWrite, sql, write } from '../../sql/statement.ts';

/** An account with the number that entries use for it. */
export interface NumberedAccount extends AccountRow {
  readonly id: number;
}

/** Selects an account by its number. */
export const SELECT_ACCOUNT = sql(`SELECT id, key_id AS keyId, labels, selector, payer, session, agent, team_id AS team,
    user_id AS "user" FROM accounts WHERE id = ?`);

/** Selects the figures that a starting server needs: the greatest numbers in use, and the end of the sums. */
export const SELECT_STATE = sql(`SELECT through, open, usd_per_credit AS usdPerCredit,
      max(through, (SELECT coalesce(max(seq), 0) FROM journal)) AS seq,
      NOT EXISTS (SELECT 1 FROM journal) AS isEmpty,
      (SELECT coalesce(max(id), 0) FROM accounts) AS account,
      (SELECT coalesce(max(id), 0) FROM tariffs) AS tariff,
      (SELECT coalesce(max(id), 0) FROM funds) AS fund
    FROM checkpoint`);
export interface StateRow {
  readonly through: number;
  /** JSON of `OpenReservation[]`. */
  readonly open: string;
  readonly usdPerCredit: string | null;
  /** The greatest number that a row has, or that was given to a row which could not be written. */
  readonly seq: number;
  /** 1 if the journal has no entry, else 0. */
  readonly isEmpty: number;
  readonly account: number;
  readonly tariff: number;
  readonly fund: number;
}

export const SELECT_BALANCES = sql('SELECT key_id AS keyId, granted, spent FROM balances');

/** A grant or a correction that was requested. */
export interface Adjustment {
  readonly kind: 'grant' | 'correct';
  readonly keyId: string;
  /** The reservation to correct; null for a grant. */
  readonly reservation: number | null;
  readonly account: number | null;
  /** Microcredits to add to the balance; for a correction, the refund (negative). */
  readonly amount: Microcredits;
  readonly note: string;
  readonly time: number;
}
export interface AdjustmentRow extends Adjustment {
  readonly id: number;
}

const INSERT_ADJUSTMENT = sql(
  'INSERT INTO adjustments (id, kind, key_id, reservation, account, amount, note, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
);
/**
 * Inserts a requested adjustment. @param id a number chosen by its creator, which a constraint accepts only once; null for the next number
 */
export function insertAdjustment(adjustment: Adjustment, id: number | null = null): SqlWrite {
  const { kind, keyId, reservation, account, amount, note, time } = adjustment;
  return write(INSERT_ADJUSTMENT, id, kind, keyId, reservation, account, amount, note, time);
}

const INSERT_ADOPTED = sql(
  `INSERT INTO adjustments (kind, key_id, reservation, account, amount, note, time, adopted)
    VALUES (?, ?, ?, ?, ?, ?, ?, 1)`,
  { spooledAs: 'late' },
);
/** Inserts an adjustment whose journal row is in the same commit, so it is already applied. */
export function insertAdopted({ kind, keyId, reservation, account, amount, note, time }: Adjustment): SqlWrite {
  return write(INSERT_ADOPTED, kind, keyId, reservation, account, amount, note, time);
}
