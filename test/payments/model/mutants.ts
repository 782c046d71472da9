import type { NetworkClients } from '../../../src/payments/facilitator/facilitator.ts';
import type { SqlValue, SqlWrite, Statement } from '../../../src/store/sql/statement.ts';
import type { SqlStore } from '../../../src/store/sqlite/statement.ts';
import type { Fault } from './house.ts';

/** A store that drops or changes writes. */
function rewriting(store: SqlStore, keep: (write: SqlWrite) => boolean): SqlStore {
  return {
    ...passing(store),
    commit: (writes: readonly SqlWrite[]) => store.commit(writes.filter(keep)),
    append: (writes: readonly SqlWrite[], droppable) => store.append(writes.filter(keep), droppable),
  };
}

const passing = (store: SqlStore): SqlStore => ({
  commit: (writes) => store.commit(writes),
  append: (writes, droppable) => store.append(writes, droppable),
  query: (statement, params) => store.query(statement, params),
  written: () => store.written(),
  flush: () => store.flush(),
  close: () => store.close(),
});

/** A store that changes rows when it reads them, except lists, because the laws read lists. */
const misreading = (store: SqlStore, reread: (row: object) => object): SqlStore => ({
  ...passing(store),
  // The changed rows have the same form.
  query: async <Row>(statement: Statement, params?: readonly SqlValue[]) =>
    (await store.query<Row>(statement, params)).map((row) =>
      statement.sql.includes('LIMIT') ? row : (reread(row as object) as Row),
    ),
});

const withChain =
  (change: (chain: NetworkClients['chain']) => Partial<NetworkClients['chain']>) => (network: NetworkClients) => ({
    ...network,
    chain: { ...network.chain, ...change(network.chain) },
  });

const withFacilitator =
  (change: (facilitator: NetworkClients['facilitator']) => Partial<NetworkClients['facilitator']>) =>
  (network: NetworkClients) => ({
    ...network,
    facilitator: { ...network.facilitator, ...change(network.facilitator) },
  });

/** Makes arrived payments look unresolved. */
const forgetful = (row: object): object =>
  'state' in row && 'nonce' in row && row.state === 'captured' ? { ...row, state: 'unknown' } : row;

export const MUTANTS: Readonly<Record<string, Fault>> = {
  'the reconciler treats a cancelled authorization as paid': {
    network: withChain((chain) => ({
      async outcome(query) {
        const outcome = await chain.outcome(query);
        return outcome.state === 'cancelled' ? { state: 'used', transaction: `0x${'1'.repeat(64)}` } : outcome;
      },
    })),
  },
  'a restart or a repeat books the deposit of an arrived payment again': {
    store: (store) => misreading(store, forgetful),
    sql: 'DROP TRIGGER IF EXISTS payments_arrive_once',
  },
  'a restart misses that a paid request was cut': {
    store: (store) =>
      misreading(store, (row) =>
        'state' in row && 'nonce' in row && row.state === 'captured' ? { ...row, state: 'settled' } : row,
      ),
  },
  'an unsettled payment is quoted again': {
    payments: (payments) =>
      new Proxy(payments, {
        get(target, name) {
          if (name === 'unsettled') return () => null;
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      }),
  },
  'an unknown settlement is reported as failed': {
    network: withFacilitator((facilitator) => ({
      async settle(authorization) {
        const settlement = await facilitator.settle(authorization);
        return settlement.state === 'unknown' ? { state: 'failed', reason: settlement.reason } : settlement;
      },
    })),
  },
  'a payment is sent before it is stored': {
    store: (store) => rewriting(store, ({ statement }) => !statement.sql.startsWith('INSERT INTO payments')),
  },
  'a fee is kept for nothing': {
    store: (store) =>
      rewriting(store, ({ statement, params }) => {
        const isFee = statement.sql.startsWith('INSERT INTO journal') && params[1] === 'fee';
        return !(isFee && params.some((value) => typeof value === 'number' && value === 1_000_000));
      }),
  },
  'an authorization counts as expired too early': {
    network: withChain((chain) => ({
      async outcome(query) {
        const outcome = await chain.outcome(query);
        return outcome.state === 'unused' ? { state: 'unused', expired: true } : outcome;
      },
    })),
  },
};
