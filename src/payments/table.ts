import type { Microcredits } from '../core/credits.ts';
import type { SqlValue, Statement, Write } from '../store/store.ts';
import type { Payment, PaymentState } from './payment.ts';
import type { Purpose } from './quote.ts';

const INSERT: Statement = {
  sql: `INSERT INTO payments (id, state, purpose, network, asset, pay_to, payer, nonce, amount, paid, fee, bound, charged,
      decision, key_id, quote, request_mark, valid_before, tx, error, created, updated)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
};
const CAPTURE: Statement = {
  sql: `UPDATE payments SET state = 'captured', fee = ?, decision = ?, key_id = ?, tx = ?, error = NULL, updated = ?
    WHERE id = ?`,
};
export const SETTLE: Statement = {
  sql: `UPDATE payments SET state = 'settled', charged = ?, fee = ?, updated = ?
    WHERE id = ? AND state = 'captured'`,
  spooledAs: 'payment',
};
const UNKNOWN: Statement = {
  sql: `UPDATE payments SET state = 'unknown', tx = ?, error = ?, updated = ?
    WHERE id = ? AND state IN ('settling', 'unknown')`,
};
const FAIL: Statement = {
  sql: `UPDATE payments SET state = 'failed', error = ?, updated = ?
    WHERE id = ? AND state IN ('settling', 'unknown')`,
};
const REMOVE: Statement = { sql: `DELETE FROM payments WHERE id = ? AND state = 'settling'` };

/** Written before anything is sent. */
export function insertPayment(payment: Payment): Write {
  const { id, state, purpose, network, asset, payTo, payer, nonce, amount, paid, fee, bound, charged } = payment;
  const { decision, keyId, quote, requestMark, validBefore, transaction, error, created, updated } = payment;
  const transfer: SqlValue[] = [id, state, purpose, network, asset, payTo, payer, nonce, `${amount}`, paid, fee, bound];
  const request: SqlValue[] = [charged, decision, keyId, quote, requestMark, validBefore, transaction, error];
  return { statement: INSERT, params: [...transfer, ...request, created, updated] };
}

/** Only for the commit that has the deposit. Fails that commit if the payment arrived before. */
export function capturePayment({ id, fee, decision, keyId, transaction, updated }: Payment): Write {
  return { statement: CAPTURE, params: [fee, decision, keyId, transaction, updated, id] };
}

export function settlePayment(id: number, charged: Microcredits | null, fee: Microcredits, time: number): Write {
  return { statement: SETTLE, params: [charged, fee, time, id] };
}

export function doubtPayment({ id, transaction, error, updated }: Payment): Write {
  return { statement: UNKNOWN, params: [transaction, error, updated, id] };
}

export function failPayment({ id, error, updated }: Payment): Write {
  return { statement: FAIL, params: [error, updated, id] };
}

export function removePayment(id: number): Write {
  return { statement: REMOVE, params: [id] };
}

const COLUMNS = `id, state, purpose, network, asset, pay_to AS payTo, payer, nonce, amount, paid, fee, bound, charged, decision,
  key_id AS keyId, quote, request_mark AS requestMark, valid_before AS validBefore, tx AS "transaction", error, created, updated`;

export const SELECT_ONE: Statement = { sql: `SELECT ${COLUMNS} FROM payments WHERE id = ?` };
export const SELECT_AUTHORIZATION: Statement = {
  sql: `SELECT ${COLUMNS} FROM payments WHERE network = ? AND asset = ? AND payer = ? AND nonce = ?`,
};
export const SELECT_UNDER_WAY: Statement = {
  sql: `SELECT ${COLUMNS} FROM payments WHERE state IN ('settling', 'captured', 'unknown') ORDER BY id`,
};
/** Parameters: state or null, upper bound of the ID, limit. */
export const SELECT_LATEST: Statement = {
  sql: `SELECT ${COLUMNS} FROM payments WHERE (?1 IS NULL OR state = ?1) AND id < ?2 ORDER BY id DESC LIMIT ?3`,
};
/** The same, and the payer. */
export const SELECT_LATEST_OF: Statement = {
  sql: `SELECT ${COLUMNS} FROM payments WHERE (?1 IS NULL OR state = ?1) AND id < ?2 AND payer = ?4
    ORDER BY id DESC LIMIT ?3`,
};

export interface PaymentTableRow extends Omit<Payment, 'amount' | 'state' | 'purpose'> {
  readonly state: PaymentState;
  readonly purpose: Purpose;
  readonly amount: string;
}

export function paymentOf({ amount, ...rest }: PaymentTableRow): Payment {
  return { ...rest, amount: BigInt(amount) };
}
