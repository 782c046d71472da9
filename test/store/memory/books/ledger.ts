import { isAddress } from '../../../../src/core/money/holder-address.ts';
import type { LedgerTable } from '../../../../src/store/ledger-table.ts';
import { type MemoryStore, unmet } from '../store.ts';
import type { MemoryRequest } from './booked.ts';
import type { MemoryBooks } from './books.ts';

/** The ledger in memory as commands see it. The books of this ledger apply requested adjustments when they refresh. */
export function memoryLedger(store: MemoryStore, books: MemoryBooks): LedgerTable {
  const { requests, journal } = books;
  const request = (row: Omit<MemoryRequest, 'isAdopted'>) => {
    requests.push({ ...row, isAdopted: false });
    store.undoBy(() => requests.pop());
    store.raised('funds');
  };
  const grantsOf = (holder: string) => requests.filter((one) => one.reservation === null && one.holder === holder);
  const refundsOf = (id: number) => requests.filter(({ reservation }) => reservation === id);
  const sumOf = (rows: readonly MemoryRequest[]) =>
    rows.reduce((sum, { isAdopted, amount }) => (isAdopted ? sum : sum + amount), 0);
  const granted = (holder: string) => (books.balanceOf(holder)?.limit ?? 0) + sumOf(grantsOf(holder));
  return {
    exists: async () => true,
    identity: async () => 'a1'.repeat(16),
    state: async () => books.state(),
    budgets: async () => books.terms.budgets,
    spentIn: (keyId, window) => books.spentIn(keyId, window),
    async balance(holder) {
      if (!isAddress(holder) && grantsOf(holder).length === 0) return null;
      return { granted: granted(holder), spent: books.balanceOf(holder)?.spent ?? 0 };
    },
    balances: async () => {
      const requested = requests.filter(({ reservation, isAdopted }) => reservation === null && !isAdopted);
      const holders = [...books.balances().map(({ title }) => title.name), ...requested.map(({ holder }) => holder)];
      return new Map(
        holders.map((holder) => [holder, { granted: granted(holder), spent: books.balanceOf(holder)?.spent ?? 0 }]),
      );
    },
    granted: async (holder) => granted(holder),
    async reservation(id) {
      const made = books.find(id);
      if (!made) return null;
      const refunds = refundsOf(id);
      return {
        reservation: id,
        account: journal.accounts.of(made.dimensions),
        keyId: made.dimensions.key ?? '',
        payer: made.dimensions.holder ?? null,
        isOpen: made.closing === null,
        onBalance: made.funds.some(({ title }) => title.kind === 'balance'),
        charged: made.state.charged,
        overrun: made.overrun,
        givenBack: made.givenBack - sumOf(refunds),
        lastAdjustment: refunds.length,
      };
    },
    isAdopted: async (id) => refundsOf(id).every(({ isAdopted }) => isAdopted),
    prune: async () => 0,
    grant: (holder, amount, note, time) =>
      store.write(() => request({ reservation: null, holder, amount, note, time })),
    refund: ({ reservation, keyId, lastAdjustment }, amount, note, time) =>
      store.write(() => {
        if (refundsOf(reservation).length !== lastAdjustment) unmet();
        request({ reservation, holder: keyId, amount: -amount, note, time });
      }),
  };
}
