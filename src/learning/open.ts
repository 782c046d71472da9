import type { Store } from '../store/store.ts';
import type { Learner } from './learner.ts';
import { type Knowledge, Memories } from './memories.ts';
import type { EstimatorFault } from './memory.ts';
import { findSecret, loadSecret } from './secret.ts';
import { Standing } from './standing.ts';
import { StoredLearner } from './stored-learner.ts';
import {
  applyReset,
  type OutcomeRow,
  type ResetRow,
  SELECT_LAST,
  SELECT_RESETS,
  SELECT_STANDING,
  SELECT_TAUGHT,
} from './tables.ts';

export interface LearnerOptions {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Numbers that grow with time and never repeat. */
  readonly nextId: () => number;
  /** Told once of each kind of fault of each plugin. */
  readonly onFault?: EstimatorFault;
  /** A checkpoint, or a look at what other processes did, has failed; it is tried again. */
  readonly onError?: (error: unknown) => void;
  /** How often to look whether another process has reset something, ms; absent: only on `refresh`. */
  readonly refreshMs?: number;
  /** How often what was learnt is written down, ms; absent: only on `checkpoint` and `close`. */
  readonly checkpointMs?: number;
}

/** What the server does with a learner beside asking and teaching it. */
export interface KeptLearner extends Learner, Knowledge {
  /** Takes over what another process has reset. Rejects with StoreError. */
  refresh(): Promise<void>;
  /** Writes down what was learnt. Rejects with StoreError. */
  checkpoint(): Promise<void>;
  /** Deletes what can no more be scored, and outcomes older than `ageMs`, a batch at a time. Rejects with StoreError. */
  prune(ageMs: number): Promise<void>;
}

const STANDING_BATCH = 1_000;

/** Opens what was learnt, for the one server that goes on learning. Rejects with StoreError. */
export async function openLearner(options: LearnerOptions): Promise<KeptLearner> {
  const { store, now } = options;
  const secret = await loadSecret(store);
  const faults = new Faults(options.onFault);
  const { memories, resets } = await Memories.load({ store, secret, onFault: faults.tell });
  // What is learnt from now on is behind them.
  const open = resets.filter(({ applied }) => applied === null);
  if (open.length > 0) await store.commit(open.map(({ id }) => applyReset(id, memories.lastOutcome)));
  const [last] = await store.query<{ n: number }>(SELECT_LAST);
  const standing = await loadStanding(store, now());
  return new StoredLearner(options, { memories, standing, faults, outcomes: last?.n ?? 0 });
}

/** Opens what was learnt as the store has it now, for reading alone; null before a server that learns was ever started on it. Rejects with StoreError. */
export async function openMemory(
  store: Pick<Store, 'query'>,
  onFault?: EstimatorFault,
): Promise<(Knowledge & { readonly brier: Learner['activity']['brier'] }) | null> {
  const secret = await findSecret(store);
  if (!secret) return null;
  const { memories } = await Memories.load({ store, secret, onFault: new Faults(onFault).tell });
  const { brier } = await loadStanding(store, 0);
  return {
    read: (policy, text) => memories.read(policy, text),
    estimate: (policy, facts, features) => memories.estimate(policy, facts, features),
    known: (policy) => memories.known(policy),
    telling: (policy, asked, most) => memories.telling(policy, asked, most),
    brier,
  };
}

/** Of who has learnt nothing, and has no store: for what is declared, and the length of questions. */
export const blankMemory = (): Memories =>
  new Memories({ secret: [0, 0], onFault: () => {} }, { outcome: 0, reset: 0 });

/** As the store has it now. Rejects with StoreError. */
export async function loadStanding(store: Pick<Store, 'query'>, now: number): Promise<Standing> {
  const [kept] = await store.query<{ outcome: number; body: string }>(SELECT_STANDING);
  const standing = new Standing(kept?.body ?? null, now);
  const resets = await store.query<ResetRow>(SELECT_RESETS, [0]);
  // One that no server has applied yet is behind all outcomes.
  const [reset] = resets.filter(({ model }) => model === null).slice(-1);
  const forgotten = reset ? (reset.applied ?? Number.POSITIVE_INFINITY) : -1;
  if ((kept?.outcome ?? 0) <= forgotten) standing.brier.restart();
  for (let after = kept?.outcome ?? 0; ; ) {
    const rows = await store.query<OutcomeRow>(SELECT_TAUGHT, [after, STANDING_BATCH]);
    for (const row of rows) {
      standing.again(row);
      if (row.id <= forgotten) standing.brier.restart();
    }
    const last = rows.at(-1);
    if (!last) return standing;
    after = last.id;
  }
}

/** A plugin that fails once mostly fails at every request. */
class Faults {
  count = 0;
  readonly tell: EstimatorFault;

  constructor(told: EstimatorFault = () => {}) {
    const known = new Set<string>();
    this.tell = (estimator, where, error) => {
      this.count++;
      const name = `${estimator} ${where}`;
      if (known.has(name)) return;
      known.add(name);
      told(estimator, where, error);
    };
  }
}
