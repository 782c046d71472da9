import { AnswerSeal } from '../../../../src/access/idempotency/crypto.ts';
import { type IdempotencyOptions, LOSSES_MAX } from '../../../../src/access/idempotency/idempotency.ts';
import { StoredRun } from '../../../../src/access/idempotency/run.ts';
import type { AnswerHead, AnswerRow, AnswerVersion, IdempotencyTable } from '../../../../src/store/idempotency.ts';
import type { Write } from '../../../../src/store/store.ts';
import type { IdempotencyStore, Mutant } from './world.ts';

function patch<Of extends object, Name extends keyof Of>(of: Of, name: Name, made: (original: Of[Name]) => Of[Name]) {
  const original = of[name];
  of[name] = made(original);
  return () => {
    of[name] = original;
  };
}

/** Returns a store with a changed idempotency table. */
const withTable = (change: (table: IdempotencyTable) => Partial<IdempotencyTable>) => (store: IdempotencyStore) => ({
  commit: (writes: readonly Write[]) => store.commit(writes),
  append: (writes: readonly Write[]) => store.append(writes),
  idempotency: { ...store.idempotency, ...change(store.idempotency) },
});

/** A version that no row has, so that replacing it changes nothing. */
const NONE: AnswerVersion = { name: new Uint8Array(32), state: 'lost', salt: new Uint8Array(0) };

/** Returns a store that changes or drops rows when it writes them. */
const writing = (rewrite: (row: AnswerRow) => AnswerRow | null) =>
  withTable((table) => ({
    claim(row, seen) {
      const written = rewrite(row);
      return written ? table.claim(written, seen) : table.replace(NONE, null);
    },
    replace(from, row) {
      const written = row && rewrite(row);
      return row && !written ? table.replace(NONE, null) : table.replace(from, written);
    },
  }));

const setting = (change: Partial<AnswerRow>) => writing((row) => ({ ...row, ...change }));

/** Returns a store that changes rows when it reads them. */
const reading = (reread: (row: AnswerHead) => Partial<AnswerHead>) =>
  withTable((table) => ({
    async head(name) {
      const row = await table.head(name);
      return row && { ...row, ...reread(row) };
    },
  }));

const givingBack = (giveBack: (options: IdempotencyOptions) => IdempotencyOptions['giveBack']) => ({
  options: (options: IdempotencyOptions) => ({ ...options, giveBack: giveBack(options) }),
});

export const MUTANTS: Readonly<Record<string, Mutant>> = {
  'the charge of a crash is not refunded, so that one request is charged twice': givingBack(() => async () => 0),
  'a refund is not reported': givingBack((options) => async (id, note) => {
    await options.giveBack(id, note);
    return 0;
  }),
  'the refund is more than the charge of the repeat': givingBack((options) => (id, note) => options.giveBack(id, note)),
  'an answer goes to another API key': {
    claim: (idempotency) => (ask) => idempotency.claim({ ...ask, keyId: 'ada', secret: 'secret' }),
  },
  'bodies are not compared': {
    claim: (idempotency) => (ask) => idempotency.claim({ ...ask, body: Buffer.from('any') }),
  },
  'a stored answer opens with another secret': {
    claim: (idempotency) => (ask) => idempotency.claim({ ...ask, secret: 'any' }),
  },
  'the mark of a body is always the same': {
    infect: () => patch(AnswerSeal.prototype, 'bodyMark', () => () => new Uint8Array(32)),
  },
  'a request is not marked as running before its hold': {
    wrap: writing((row) => (row.state === 'running' ? null : row)),
  },
  'an answer is not written': { wrap: writing((row) => (row.state === 'kept' ? null : row)) },
  'an answer is written without waiting for the disk': {
    wrap(store) {
      const kept = new WeakSet<Write>();
      const wrapped = withTable((table) => ({
        replace(from, row) {
          const write = table.replace(from, row);
          if (row?.state === 'kept') kept.add(write);
          return write;
        },
      }))(store);
      return {
        ...wrapped,
        async commit(writes) {
          if (writes.some((write) => kept.has(write))) store.append(writes);
          else await store.commit(writes);
        },
      };
    },
  },
  'a repeated run forgets the earlier loss': { wrap: setting({ earlier: null }) },
  'losses are not counted': { wrap: setting({ losses: 0 }) },
  'a lost answer is refunded before its repeat is paid for': {
    wrap: reading(({ state, losses }) => (state === 'lost' && losses < LOSSES_MAX ? { state: 'running' } : {})),
  },
  'the charge of a crash is refunded only when its repeat is paid for': {
    wrap: reading(({ state }) => (state === 'running' ? { state: 'lost' } : {})),
  },
  'answers are stored forever': { wrap: reading(() => ({ time: Number.MAX_SAFE_INTEGER })) },
  'answers are stored an hour too short': { wrap: reading(({ time }) => ({ time: time - 3_600_000 })) },
  'pruning deletes rows an hour too early': {
    wrap: withTable((table) => ({ prune: () => table.prune(Number.MAX_SAFE_INTEGER) })),
  },
  'a failure that cost nothing is remembered as lost': {
    infect: () =>
      patch(StoredRun.prototype, 'drop', () => {
        return function (this: StoredRun) {
          return this.lose();
        };
      }),
  },
  'an answer that is too large is forgotten with its charge': {
    infect: () =>
      patch(StoredRun.prototype, 'lose', () => {
        return function (this: StoredRun) {
          return this.drop();
        };
      }),
  },
  'the row of a request that failed stays': {
    wrap: withTable((table) => ({ replace: (from, row) => table.replace(row ? from : NONE, row) })),
  },
};
