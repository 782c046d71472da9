import type {
  AuthorizationId,
  BlocklistTable,
  GasNonceTable,
  Payment,
  PaymentTable,
  PendingSettlementTable,
  QuoteSecretTable,
  TakenNonce,
} from '../../../src/store/payments.ts';
import { type MemoryStore, MemoryTable, refuse, unmet } from './store.ts';

const UNRESOLVED: readonly Payment['state'][] = ['settling', 'captured', 'unknown'];
const UNSETTLED: readonly Payment['state'][] = ['settling', 'unknown'];

const isSame = (payment: AuthorizationId, other: AuthorizationId): boolean =>
  payment.network === other.network &&
  payment.asset === other.asset &&
  payment.payer === other.payer &&
  payment.nonce === other.nonce;

/** The row, where it has this state and owner. */
const isSeen = (row: Payment | undefined, { state, owner }: Pick<Payment, 'state' | 'owner'>): Payment | null =>
  row?.state === state && Bun.deepEquals(row.owner, owner) ? row : null;

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
    take: (seen, owner) =>
      store.write(() => rows.put(seen.id, { ...(isSeen(rows.get(seen.id), seen) ?? unmet()), owner })),
    capture: ({ id, fee, decision, keyId, transaction, updated, owner }) =>
      change(id, null, { state: 'captured', fee, decision, keyId, transaction, error: null, updated, owner }),
    settle: (id, charged, fee, updated) =>
      store.write(() => {
        const row = rows.get(id);
        if (row?.state === 'captured') rows.put(id, { ...row, state: 'settled', charged, fee, updated, owner: null });
        else if (row?.state === 'settled' && row.charged === 0) rows.put(id, { ...row, charged, updated });
      }),
    abandon: ({ id, owner }, updated) =>
      store.write(() => {
        const row = isSeen(rows.get(id), { state: 'captured', owner }) ?? unmet();
        rows.put(id, { ...row, state: 'settled', charged: 0, fee: 0, updated, owner: null });
      }),
    doubt: ({ id, transaction, error, updated, owner }) =>
      change(id, UNSETTLED, { state: 'unknown', transaction, error, updated, owner }),
    fail: ({ id, error, updated }) => change(id, UNSETTLED, { state: 'failed', error, updated, owner: null }),
    remove: (id) =>
      store.write(() => {
        if (UNSETTLED.some((state) => state === rows.get(id)?.state)) rows.delete(id);
      }),
    get: async (id) => rows.get(id) ?? null,
    find: async (authorization) => rows.rows().find((row) => isSame(row, authorization)) ?? null,
    unresolved: async () => byId().filter(({ state }) => UNRESOLVED.includes(state)),
    unsettledOf: async (payer, mark) =>
      byId().filter((row) => row.payer === payer && row.requestMark === mark && UNSETTLED.includes(row.state)),
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

export function memoryGasNonces(store: MemoryStore): GasNonceTable {
  const rows = new MemoryTable<string, TakenNonce>(store);
  const isLast = (key: string, seen: TakenNonce | null) => Bun.deepEquals(rows.get(key) ?? null, seen);
  return {
    find: async (key) => rows.get(key) ?? null,
    take: (key, taken, seen) =>
      store.write(() => {
        if (!isLast(key, seen)) unmet();
        rows.put(key, taken);
      }),
    release: (key, taken) =>
      store.write(() => {
        if (isLast(key, taken)) rows.delete(key);
      }),
  };
}
