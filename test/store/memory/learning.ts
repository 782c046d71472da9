import type {
  ExampleRow,
  ExampleTable,
  LearningTables,
  OutcomeFilter,
  OutcomeLog,
  OutcomeRow,
  OutcomeWithFeatures,
  ResetRow,
  StoredPosition,
} from '../../../src/store/learning.ts';
import { type MemoryStore, MemoryTable, unmet } from './store.ts';

const byId = (one: { readonly id: number }, other: { readonly id: number }): number => one.id - other.id;

const greatest = (rows: readonly { readonly id: number }[]): number => Math.max(0, ...rows.map(({ id }) => id));

function memoryExamples(store: MemoryStore, examples: MemoryTable<number, ExampleRow>): ExampleTable {
  return {
    add: (row) => store.write(() => examples.get(row.decision) ?? examples.put(row.decision, structuredClone(row))),
    find: async (decision) => examples.get(decision) ?? null,
    countOpen: async (now) => examples.rows().filter(({ until }) => until >= now).length,
    async prune(before) {
      const due = examples.rows().filter(({ until }) => until < before);
      await store.commit([store.write(() => due.forEach(({ decision }) => void examples.delete(decision)))]);
      return due.length;
    },
  };
}

function memoryOutcomes(store: MemoryStore, examples: MemoryTable<number, ExampleRow>): OutcomeLog {
  const outcomes = new MemoryTable<number, OutcomeRow>(store);
  const sorted = () => outcomes.rows().sort(byId);
  const withFeatures = (row: OutcomeRow): OutcomeWithFeatures => {
    const example = examples.get(row.decision);
    return { ...row, features: example?.estimator === row.estimator ? example.features : null };
  };
  const isMatch = ({ id, keyId, model, source }: OutcomeRow, filter: OutcomeFilter): boolean =>
    id > filter.after &&
    id < filter.before &&
    (filter.keyId ?? keyId) === keyId &&
    (filter.model ?? model) === model &&
    (filter.source ?? source) === source;
  return {
    add: (row) =>
      store.write(() => {
        const isKnown = ({ decision, source }: OutcomeRow) => decision === row.decision && source === row.source;
        const id = Math.max(row.id, greatest(outcomes.rows()) + 1);
        if (!outcomes.rows().some(isKnown)) outcomes.put(id, { ...row, id });
      }),
    findScore: async (decision) =>
      outcomes.rows().find((row) => row.decision === decision && row.source === 'caller') ?? null,
    horizon: async () => greatest(outcomes.rows()),
    after: async (after, most) =>
      sorted()
        .filter(({ id }) => id > after)
        .slice(0, most)
        .map(withFeatures),
    tail: async (estimator, after, most) =>
      sorted()
        .filter((row) => row.estimator === estimator && row.weight > 0 && row.id > after)
        .slice(-most)
        .map(withFeatures),
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
    models: async () => [...new Set(outcomes.rows().map(({ model }) => model))].sort(),
    countAfter: async (estimator, after) =>
      outcomes.rows().filter((row) => row.estimator === estimator && row.id > after && row.weight > 0).length,
    async prune(beforeId) {
      const due = outcomes.rows().filter(({ id }) => id < beforeId);
      await store.commit([store.write(() => due.forEach(({ id }) => void outcomes.delete(id)))]);
      return due.length;
    },
  };
}

interface PartRow {
  readonly estimator: string;
  readonly part: string;
  readonly bytes: Uint8Array;
}

const nameOf = (estimator: string, part: string): string => JSON.stringify([estimator, part]);

function memoryMemories(store: MemoryStore): LearningTables['memories'] {
  const parts = new MemoryTable<string, PartRow>(store);
  const positions = new MemoryTable<string, StoredPosition & { readonly estimator: string }>(store);
  const states = new MemoryTable<number, { readonly outcome: number; readonly body: string }>(store);
  const sortedParts = () => parts.rows().sort((one, other) => (nameOfRow(one) < nameOfRow(other) ? -1 : 1));
  const nameOfRow = ({ estimator, part }: PartRow) => nameOf(estimator, part);
  return {
    parts: async () => sortedParts(),
    putPart: (estimator, part, bytes) =>
      store.write(() => {
        const name = nameOf(estimator, part);
        if (bytes) parts.put(name, { estimator, part, bytes: bytes.slice() });
        else parts.delete(name);
      }),
    deleteParts: (estimator) =>
      store.write(() => {
        for (const row of parts.rows()) if (row.estimator === estimator) parts.delete(nameOfRow(row));
      }),
    positions: async () => positions.rows(),
    putPosition: (estimator, { outcome, reset }) =>
      store.write(() => positions.put(estimator, { estimator, outcome, reset })),
    advance: (estimator, { outcome, reset }) =>
      store.write(() => {
        const stored = positions.get(estimator);
        if (stored && (stored.outcome > outcome || stored.reset > reset)) unmet();
        positions.put(estimator, { estimator, outcome, reset });
      }),
    beginPosition: (estimator, { outcome, reset }) =>
      store.write(() => positions.get(estimator) ?? positions.put(estimator, { estimator, outcome, reset })),
    state: async () => states.get(1) ?? null,
    putState: (outcome, body) => store.write(() => states.put(1, { outcome, body })),
  };
}

function memoryResets(store: MemoryStore): LearningTables['resets'] {
  const resets = new MemoryTable<number, ResetRow>(store);
  return {
    add: (model, at) =>
      store.write(() => {
        const id = greatest(resets.rows()) + 1;
        store.raised('learning');
        resets.put(id, { id, model, at, applied: null });
      }),
    apply: (id, applied) =>
      store.write(() => {
        const reset = resets.get(id);
        if (reset && reset.applied === null) resets.put(id, { ...reset, applied });
      }),
    after: async (after) =>
      resets
        .rows()
        .filter(({ id }) => id > after)
        .sort(byId),
  };
}

/** The repositories of learning. */
export function memoryLearning(store: MemoryStore): LearningTables {
  const examples = new MemoryTable<number, ExampleRow>(store);
  const secrets = new MemoryTable<number, Uint8Array>(store);
  return {
    secret: {
      find: async () => secrets.get(1) ?? null,
      add: (secret) => store.write(() => secrets.get(1) ?? secrets.put(1, secret.slice())),
    },
    examples: memoryExamples(store, examples),
    outcomes: memoryOutcomes(store, examples),
    memories: memoryMemories(store),
    resets: memoryResets(store),
  };
}
