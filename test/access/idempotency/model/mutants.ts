import { AnswerSeal } from '../../../../src/access/idempotency/crypto.ts';
import { type IdempotencyOptions, LOSSES_MAX } from '../../../../src/access/idempotency/idempotency.ts';
import { StoredRun } from '../../../../src/access/idempotency/run.ts';
import type { AnswerRow } from '../../../../src/access/idempotency/table.ts';
import type { SqlValue, Store, Write } from '../../../../src/store/store.ts';
import type { Mutant } from './world.ts';

function patch<Of extends object, Name extends keyof Of>(of: Of, name: Name, made: (original: Of[Name]) => Of[Name]) {
  const original = of[name];
  of[name] = made(original);
  return () => {
    of[name] = original;
  };
}

function passing(store: Store, over: Partial<Store>): Store {
  return {
    commit: (writes) => store.commit(writes),
    append: (writes) => store.append(writes),
    query: (statement, params) => store.query(statement, params),
    version: () => store.version(),
    written: () => store.written(),
    flush: () => store.flush(),
    close: () => store.close(),
    ...over,
  };
}

const COLUMNS = ['name', 'state', 'decision', 'earlier', 'losses', 'time'];
const isRow = ({ statement }: Write): boolean => statement.sql.startsWith('INSERT INTO idempotency');
const cellOf = (write: Write, column: string): SqlValue => write.params[COLUMNS.indexOf(column)] ?? null;

/** A store that changes or drops rows when it writes them. */
const writing = (rewrite: (write: Write) => Write | null) => (store: Store) =>
  passing(store, {
    commit: (writes) => store.commit(writes.flatMap((write) => (isRow(write) ? (rewrite(write) ?? []) : write))),
  });

const setting = (column: string, value: SqlValue, where: (write: Write) => boolean = () => true) =>
  writing((write) => {
    if (!where(write)) return write;
    return { ...write, params: write.params.map((old, at) => (at === COLUMNS.indexOf(column) ? value : old)) };
  });

/** A store that changes rows when it reads them. */
const reading = (reread: (row: AnswerRow) => Partial<AnswerRow>) => (store: Store) => {
  const query: Store['query'] = async <Found>(...asked: Parameters<Store['query']>) =>
    (await store.query<Found & AnswerRow>(...asked)).map((row) =>
      'verifier' in row ? { ...row, ...reread(row) } : row,
    );
  return passing(store, { query });
};

const givingBack = (giveBack: (options: IdempotencyOptions) => IdempotencyOptions['giveBack']) => ({
  options: (options: IdempotencyOptions) => ({ ...options, giveBack: giveBack(options) }),
});

export const MUTANTS: Readonly<Record<string, Mutant>> = {
  'a crash’s charge is not given back, so that one request is charged twice': givingBack(() => async () => 0),
  'a refund is not reported': givingBack((options) => async (id, note) => {
    await options.giveBack(id, note);
    return 0;
  }),
  'more is given back than the repeat was charged': givingBack((options) => (id, note) => options.giveBack(id, note)),
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
  'a request is not marked as running before its reservation': {
    wrap: writing((write) => (cellOf(write, 'state') === 'running' ? null : write)),
  },
  'an answer is not written': { wrap: writing((write) => (cellOf(write, 'state') === 'kept' ? null : write)) },
  'an answer is written without waiting for the disk': {
    wrap: (store) =>
      passing(store, {
        async commit(writes) {
          if (writes.some((write) => isRow(write) && cellOf(write, 'state') === 'kept')) store.append(writes);
          else await store.commit(writes);
        },
      }),
  },
  'a repeated run forgets the earlier loss': { wrap: setting('earlier', null) },
  'losses are not counted': { wrap: setting('losses', 0) },
  'a loss is given back before its repeat is paid for': {
    wrap: reading(({ state, losses }) => (state === 'lost' && losses < LOSSES_MAX ? { state: 'running' } : {})),
  },
  'a crashed charge is given back only when its repeat is paid for': {
    wrap: reading(({ state }) => (state === 'running' ? { state: 'lost' } : {})),
  },
  'answers are stored forever': { wrap: reading(() => ({ time: Number.MAX_SAFE_INTEGER })) },
  'answers are stored for an hour less': { wrap: reading(({ time }) => ({ time: time - 3_600_000 })) },
  'pruning takes an hour too much': {
    wrap: (store) =>
      passing(store, {
        commit: (writes) =>
          store.commit(
            writes.map((write) =>
              write.statement.sql.startsWith('DELETE FROM idempotency WHERE id')
                ? { ...write, params: [Number.MAX_SAFE_INTEGER, 1_000] }
                : write,
            ),
          ),
        query: async (statement, params) =>
          store.query(statement, statement.sql.includes('count(*)') ? [Number.MAX_SAFE_INTEGER, 1_000] : params),
      }),
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
    wrap: (store) =>
      passing(store, {
        commit: (writes) =>
          store.commit(writes.filter(({ statement }) => statement.sql !== 'DELETE FROM idempotency WHERE name = ?')),
      }),
  },
};
