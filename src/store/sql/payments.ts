import type { Payment, PaymentTable } from '../payments.ts';
import { ownerOf, type StoredOwner, storedOwner } from './owner.ts';
import { type SqlReader, type SqlValue, type Statement, sql, write } from './statement.ts';

const INSERT =
  sql(`INSERT INTO payments (id, state, purpose, network, asset, pay_to, payer, nonce, amount, paid, fee, bound, charged,
      decision, key_id, quote, request_mark, valid_before, tx, error, created, updated, slot, epoch)
    VALUES ($id, $state, $purpose, $network, $asset, $payTo, $payer, $nonce, $amount, $paid, $fee, $bound, $charged,
      $decision, $keyId, $quote, $requestMark, $validBefore, $transaction, $error, $created, $updated, $slot, $epoch)`);
const TAKE = sql(
  `UPDATE payments SET slot = $slot, epoch = $epoch
    WHERE id = $id AND state = $state AND slot IS NOT DISTINCT FROM $seenSlot AND epoch IS NOT DISTINCT FROM $seenEpoch`,
  { mustChange: true },
);
const CAPTURE = sql(`UPDATE payments SET state = 'captured', fee = $fee, decision = $decision, key_id = $keyId,
      tx = $transaction, error = NULL, updated = $updated, slot = $slot, epoch = $epoch WHERE id = $id`);
/** The parameters of the statement are charge, fee, time and ID. The fee of an abandoned payment stays 0, because it was refunded. */
export const SETTLE = sql(
  `UPDATE payments SET state = 'settled', charged = ?1, fee = CASE state WHEN 'captured' THEN ?2 ELSE fee END,
      updated = ?3, slot = NULL, epoch = NULL
    WHERE id = ?4 AND (state = 'captured' OR (state = 'settled' AND charged = 0))`,
  { spooledAs: 'payment' },
);
const ABANDON = sql(
  `UPDATE payments SET state = 'settled', charged = 0, fee = 0, updated = $time, slot = NULL, epoch = NULL
    WHERE id = $id AND state = 'captured' AND slot IS NOT DISTINCT FROM $slot AND epoch IS NOT DISTINCT FROM $epoch`,
  { mustChange: true },
);
const UNKNOWN = sql(`UPDATE payments SET state = 'unknown', tx = $transaction, error = $error, updated = $updated,
      slot = $slot, epoch = $epoch
    WHERE id = $id AND state IN ('settling', 'unknown')`);
const FAIL = sql(`UPDATE payments SET state = 'failed', error = $error, updated = $updated, slot = NULL, epoch = NULL
    WHERE id = $id AND state IN ('settling', 'unknown')`);
const REMOVE = sql(`DELETE FROM payments WHERE id = ? AND state IN ('settling', 'unknown')`);

const COLUMNS = `id, state, purpose, network, asset, pay_to AS payTo, payer, nonce, amount, paid, fee, bound, charged, decision,
  key_id AS keyId, quote, request_mark AS requestMark, valid_before AS validBefore, tx AS "transaction", error, created, updated,
  slot, epoch`;

const SELECT_ONE = sql(`SELECT ${COLUMNS} FROM payments WHERE id = ?`);
const SELECT_AUTHORIZATION = sql(
  `SELECT ${COLUMNS} FROM payments WHERE network = ? AND asset = ? AND payer = ? AND nonce = ?`,
);
const SELECT_UNRESOLVED = sql(
  `SELECT ${COLUMNS} FROM payments WHERE state IN ('settling', 'captured', 'unknown') ORDER BY id`,
);
const SELECT_UNSETTLED = sql(
  `SELECT ${COLUMNS} FROM payments WHERE payer = ? AND request_mark = ? AND state IN ('settling', 'unknown') ORDER BY id`,
);
/** The parameters of the statement are the state or null, the upper bound of the ID, and the limit. */
const SELECT_LATEST = sql(
  `SELECT ${COLUMNS} FROM payments WHERE (state = ?1 OR ?1 IS NULL) AND id < ?2 ORDER BY id DESC LIMIT ?3`,
);
/** The parameters of the statement are the state or null, the upper bound of the ID, the limit, and the payer. */
const SELECT_LATEST_OF =
  sql(`SELECT ${COLUMNS} FROM payments WHERE (state = ?1 OR ?1 IS NULL) AND id < ?2 AND payer = ?4
    ORDER BY id DESC LIMIT ?3`);

type PaymentRow = Omit<Payment, 'amount' | 'owner'> & StoredOwner & { readonly amount: string };

const rowOf = ({ owner, ...payment }: Payment) => ({ ...payment, amount: `${payment.amount}`, ...storedOwner(owner) });
const paymentOf = ({ amount, slot, epoch, ...rest }: PaymentRow): Payment => ({
  ...rest,
  amount: BigInt(amount),
  owner: ownerOf({ slot, epoch }),
});

export function sqlPayments(db: SqlReader): PaymentTable {
  const rows = async (statement: Statement, params?: readonly SqlValue[]) =>
    (await db.query<PaymentRow>(statement, params)).map(paymentOf);
  return {
    insert: (payment) => write(INSERT, rowOf(payment)),
    take({ id, state, owner: seen }, owner) {
      const { slot: seenSlot, epoch: seenEpoch } = storedOwner(seen);
      return write(TAKE, { id, state, seenSlot, seenEpoch, ...storedOwner(owner) });
    },
    capture: (payment) => write(CAPTURE, rowOf(payment)),
    settle: (id, charged, fee, time) => write(SETTLE, charged, fee, time, id),
    abandon: ({ id, owner }, time) => write(ABANDON, { id, time, ...storedOwner(owner) }),
    doubt: (payment) => write(UNKNOWN, rowOf(payment)),
    fail: (payment) => write(FAIL, rowOf(payment)),
    remove: (id) => write(REMOVE, id),
    get: async (id) => (await rows(SELECT_ONE, [id]))[0] ?? null,
    find: async ({ network, asset, payer, nonce }) =>
      (await rows(SELECT_AUTHORIZATION, [network, asset, payer, nonce]))[0] ?? null,
    unresolved: () => rows(SELECT_UNRESOLVED),
    unsettledOf: (payer, requestMark) => rows(SELECT_UNSETTLED, [payer, requestMark]),
    list({ state, payer, limit, before }) {
      const params = [state, before ?? Number.MAX_SAFE_INTEGER, limit];
      return payer === null ? rows(SELECT_LATEST, params) : rows(SELECT_LATEST_OF, [...params, payer]);
    },
  };
}
