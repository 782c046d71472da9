import type { LedgerTable } from '../../ledger-table.ts';
import { identityOf } from '../identity.ts';
import type { SqlReader } from '../statement.ts';
import { findReservation, grantedTo, grantWrite, refundWrite } from './adjust.ts';
import { balancesOf, keyBalance, spentIn } from './figures.ts';
import { hasJournal, lastEntryOf, ledgerStateOf } from './state.ts';

export const sqliteLedger = (db: SqlReader): LedgerTable => ({
  exists: () => hasJournal(db),
  identity: () => identityOf(db),
  lastEntry: () => lastEntryOf(db),
  state: () => ledgerStateOf(db),
  spentIn: (keyId, window) => spentIn(db, keyId, window),
  balance: (holder) => keyBalance(db, holder),
  balances: async () => (await balancesOf(db)) ?? new Map(),
  granted: (holder) => grantedTo(db, holder),
  reservation: (id) => findReservation(db, id),
  grant: grantWrite,
  refund: (reservation, amount, note, time) => refundWrite(reservation, amount, note, time),
});
