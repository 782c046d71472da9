import type {
  AuthorizationId,
  BlocklistTable,
  Payment,
  PaymentTable,
  PendingSettlementTable,
  QuoteSecretTable,
} from '../../../src/store/payments.ts';
import { type MemoryStore, MemoryTable, refuse } from './store.ts';

const UNRESOLVED: readonly Payment['state'][] = ['settling', 'captured', 'unknown'];
const UNSETTLED: readonly Payment['state'][] = ['settling', 'unknown'];

const isSame = (payment: AuthorizationId, other: AuthorizationId): boolean =>
  payment.network === other.network &&
  payment.asset === other.asset &&
  payment.payer === other.payer &&
  payment.nonce === other.nonce;

export function memoryPayments(store: MemoryStore): PaymentTable {
  const rows = new MemoryTable<number, Payment>(store);
  const change = (id: number, from: readonly Payment['state'][] | null, changed: Partial<Payment>) =>
    store.write(() => {
      const row = rows.get(id);
      if (!row || (from && !from.includes(row.state))) return;
      if (changed.state === 'captured' && (row.state === 'captured' || row.state === 'settled'))
        refuse('this payment has arrived already');
      rows.put(id, { ...row, ...changed });
    });
  const byId = () => rows.rows().sort((one, other) => one.id - other.id);
  return {
    insert: (payment) =>
      store.write(() => {
        if (rows.rows().some((row) => row.id === payment.id || isSame(row, payment))) refuse('it is there');
        rows.put(payment.id, payment);
      }),
    capture: ({ id, fee, decision, keyId, transaction, updated }) =>
      change(id, null, { state: 'captured', fee, decision, keyId, transaction, error: null, updated }),
    settle: (id, charged, fee, updated) => change(id, ['captured'], { state: 'settled', charged, fee, updated }),
    doubt: ({ id, transaction, error, updated }) =>
      change(id, UNSETTLED, { state: 'unknown', transaction, error, updated }),
    fail: ({ id, error, updated }) => change(id, UNSETTLED, { state: 'failed', error, updated }),
    remove: (id) =>
      store.write(() => {
        if (rows.get(id)?.state === 'settling') rows.delete(id);
      }),
    get: async (id) => rows.get(id) ?? null,
    find: async (authorization) => rows.rows().find((row) => isSame(row, authorization)) ?? null,
    unresolved: async () => byId().filter(({ state }) => UNRESOLVED.includes(state)),
    list: async ({ state, payer, limit, before }) =>
      byId()
        .filter((row) => (state === null || row.state === state) && (payer === null || row.payer === payer))
        .filter(({ id }) => id < (before ?? Number.MAX_SAFE_INTEGER))
        .reverse()
        .slice(0, limit),
  };
}

export function memoryBlocklist(store: MemoryStore): BlocklistTable {
  const rows = new MemoryTable<string, string>(store);
  const raise = (change: () => void) => {
    store.raised('wallets');
    change();
  };
  return {
    all: async () => rows.rows(),
    put: (wallet) => store.write(() => raise(() => rows.put(wallet, wallet))),
    delete: (wallet) => store.write(() => raise(() => rows.delete(wallet))),
  };
}

export function memoryPendingSettlements(store: MemoryStore): PendingSettlementTable {
  const rows = new MemoryTable<string, { readonly key: string; readonly value: string; readonly time: number }>(store);
  return {
    get: async (key) => rows.get(key)?.value ?? null,
    put: (key, value, time) => store.write(() => rows.put(key, { key, value, time })),
    delete: (key) => store.write(() => rows.delete(key)),
    deleteBefore: (before) =>
      store.write(() => {
        for (const { key, time } of rows.rows()) if (time < before) rows.delete(key);
      }),
  };
}

export function memoryQuoteSecret(store: MemoryStore): QuoteSecretTable {
  const rows = new MemoryTable<number, Uint8Array>(store);
  return {
    get: async () => rows.get(1) ?? null,
    putOnce: (secret) =>
      store.write(() => {
        if (secret.length !== 32) refuse('a secret has 32 bytes');
        if (!rows.get(1)) rows.put(1, secret);
      }),
  };
}
