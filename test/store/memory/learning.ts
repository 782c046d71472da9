import { idAt } from '../../../src/core/id.ts';
import type { LearningTables, OutcomeFilter, OutcomeLog, OutcomeRow } from '../../../src/store/learning.ts';
import { type MemoryStore, MemoryTable, unmet } from './store.ts';

interface ResetRow {
  readonly id: number;
  readonly model: string | null;
  readonly at: number;
}

const byId = (one: { readonly id: number }, other: { readonly id: number }): number => one.id - other.id;
const greatest = (rows: readonly { readonly id: number }[]): number => Math.max(0, ...rows.map(({ id }) => id));

const isMatch = ({ id, keyId, model, source }: OutcomeRow, filter: OutcomeFilter): boolean =>
  id > filter.after &&
  id < filter.before &&
  (filter.keyId ?? keyId) === keyId &&
  (filter.model ?? model) === model &&
  (filter.source ?? source) === source;

function memoryOutcomes(store: MemoryStore, resets: MemoryTable<number, ResetRow>): OutcomeLog {
  const outcomes = new MemoryTable<number, OutcomeRow>(store);
  const sorted = () => outcomes.rows().sort(byId);
  const isReset = (row: OutcomeRow) =>
    resets.rows().some(({ model, at }) => (model ?? row.model) === row.model && row.id < idAt(at));
  return {
    add: (row) =>
      store.write(() => {
        const isKnown = ({ decision, source }: OutcomeRow) => decision === row.decision && source === row.source;
        if (outcomes.rows().some(isKnown)) unmet();
        const id = Math.max(row.id, greatest(outcomes.rows()) + 1);
        outcomes.put(id, { ...row, id });
      }),
    findScore: async (decision) =>
      outcomes.rows().find((row) => row.decision === decision && row.source === 'caller') ?? null,
    async list(filter, most, latest = false) {
      const found = sorted().filter((row) => isMatch(row, filter));
      return (latest ? found.reverse() : found).slice(0, most);
    },
    async sums() {
      const sources = [...new Set(sorted().map(({ source }) => source))].sort();
      return sources.map((source) => {
        const own = outcomes.rows().filter((row) => row.source === source);
        const learnt = own.reduce((sum, { weight }) => sum + weight, 0);
        const withheld = own.filter(({ weight, offered }) => weight === 0 && offered > 0).length;
        return { source, outcomes: own.length, learnt, withheld };
      });
    },
    async means() {
      const counted = sorted().filter((row) => row.source === 'caller' && row.weight > 0 && !isReset(row));
      const groups = Map.groupBy(counted, ({ model, task }) => JSON.stringify([model, task]));
      return [...groups.values()]
        .map((rows) => {
          const outcomes = rows.reduce((sum, { weight }) => sum + weight, 0);
          const mean = rows.reduce((sum, { weight, score }) => sum + weight * score, 0) / outcomes;
          const declared = rows.reduce((sum, row) => sum + row.weight * row.declared, 0) / outcomes;
          return { model: rows[0]!.model, task: rows[0]!.task, outcomes, mean, declared };
        })
        .sort((one, other) => (`${one.model} ${one.task}` < `${other.model} ${other.task}` ? -1 : 1));
    },
    models: async () => [...new Set(outcomes.rows().map(({ model }) => model))].sort(),
    async prune(beforeId) {
      const due = outcomes.rows().filter(({ id }) => id < beforeId);
      await store.commit([store.write(() => due.forEach(({ id }) => void outcomes.delete(id)))]);
      return due.length;
    },
  };
}

/** The repositories of scores and of questions' lengths. */
export function memoryLearning(store: MemoryStore): LearningTables {
  const resets = new MemoryTable<number, ResetRow>(store);
  const lengths = new MemoryTable<number, Uint8Array>(store);
  return {
    outcomes: memoryOutcomes(store, resets),
    resets: {
      add: (model, at) =>
        store.write(() => {
          const id = greatest(resets.rows()) + 1;
          store.raised('learning');
          resets.put(id, { id, model, at });
        }),
    },
    lengths: {
      find: async () => lengths.get(1) ?? null,
      put: (bytes) => store.write(() => lengths.put(1, bytes.slice())),
    },
    examples: { prune: async () => 0 },
  };
}
