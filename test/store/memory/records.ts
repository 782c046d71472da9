import { type DecisionRecord, modelOf, statusOf } from '../../../src/core/decision-record.ts';
import { idAt } from '../../../src/core/id.ts';
import type { Revision } from '../../../src/core/revision.ts';
import type {
  FrameDifferences,
  RecordEntry,
  RecordLog,
  RecordQuery,
  RecordTables,
  StoredContent,
} from '../../../src/store/records.ts';
import { scrub } from '../../../src/telemetry/secrets.ts';
import { memoryWrite, setEntry } from './writes.ts';

/** A record as it is stored: what its caller writes into its arrays later changes nothing. */
const copyOf = (record: DecisionRecord): DecisionRecord => {
  const copy = structuredClone(record);
  const languages = copy.facts.languages.map(scrub);
  return { ...copy, facts: { ...copy.facts, languages } };
};

const entryOf = (record: DecisionRecord): RecordEntry => {
  const { id, keyId, facts } = record;
  const { task, operation } = facts;
  return {
    id,
    keyId,
    model: modelOf(record),
    task,
    status: statusOf(record),
    operation,
    record: structuredClone(record),
  };
};

function matches(entry: RecordEntry, { from, to, labels = {}, ...query }: RecordQuery): boolean {
  const { labels: own } = entry.record!;
  if (from !== undefined && entry.id < idAt(from)) return false;
  if (to !== undefined && entry.id >= idAt(to)) return false;
  const filters = ['keyId', 'model', 'task', 'status', 'operation'] as const;
  if (filters.some((name) => query[name] !== undefined && query[name] !== entry[name])) return false;
  return Object.entries(labels).every(
    ([name, value]) => own !== null && Object.hasOwn(own, name) && own[name] === value,
  );
}

function memoryRecordLog(): RecordLog {
  let records: DecisionRecord[] = [];
  return {
    add(record) {
      const copy = copyOf(record);
      return memoryWrite(() => {
        records.push(copy);
        return () => void records.splice(records.lastIndexOf(copy), 1);
      });
    },
    async find(id) {
      return structuredClone(records.find((record) => record.id === id) ?? null);
    },
    async list(query) {
      const { after = Number.POSITIVE_INFINITY, limit } = query;
      const newest = records.filter(({ id }) => id < after).sort((one, other) => other.id - one.id);
      const found = newest.map(entryOf).filter((entry) => matches(entry, query));
      return found.slice(0, limit);
    },
    lastId: async () => Math.max(0, ...records.map(({ id }) => id)),
    index: async () => false,
    async prune(beforeId) {
      const before = records.length;
      records = records.filter(({ id }) => id >= beforeId);
      return before - records.length;
    },
  };
}

/** The repositories of records in memory. */
export function memoryRecords(): RecordTables {
  const frames = new Map<number, FrameDifferences>();
  const revisions = new Map<string, Revision>();
  const contents = new Map<number, StoredContent>();
  const deleteWhere = <Key, Value>(map: Map<Key, Value>, isDue: (key: Key, value: Value) => boolean): number => {
    const due = [...map].filter(([key, value]) => isDue(key, value));
    for (const [key] of due) map.delete(key);
    return due.length;
  };
  return {
    log: memoryRecordLog(),
    frames: {
      add: (number, differences) => setEntry(frames, number, frames.get(number) ?? structuredClone(differences)),
      find: async (number) => frames.get(number) ?? null,
      lastNumber: async () => Math.max(0, ...frames.keys()),
      prune: async (beforeNumber) => deleteWhere(frames, (number) => number < beforeNumber),
    },
    revisions: {
      save: (revision) =>
        memoryWrite(() => {
          const { source, models } = revisions.get(revision.revision) ?? revision;
          return setEntryNow(revisions, revision.revision, { ...revision, source, models });
        }),
      find: async (revision) => revisions.get(revision) ?? null,
      async findByPrefix(prefix) {
        const found = [...revisions.values()].filter(({ revision }) => revision.startsWith(prefix));
        return found
          .sort((one, other) => other.saved - one.saved)
          .slice(0, 100)
          .map(({ revision }) => revision);
      },
      pruneBefore: (time) =>
        memoryWrite(() => {
          const saved = [...revisions.values()].map((one) => one.saved).filter((one) => one < time);
          const before = new Map(revisions);
          deleteWhere(revisions, (_, one) => one.saved < Math.max(...saved));
          return () => before.forEach((one, name) => void revisions.set(name, one));
        }),
    },
    contents: {
      add: (decision, content) => {
        // As it is read again: members that are undefined are not there.
        const copy: StoredContent = JSON.parse(JSON.stringify(content));
        return memoryWrite(() => {
          if (contents.has(decision)) throw new Error('a decision has one content');
          return setEntryNow(contents, decision, copy);
        });
      },
      find: async (decision, now) => {
        const found = contents.get(decision);
        return found && found.until > now ? found : null;
      },
      prune: async (now) => deleteWhere(contents, (_, { until }) => until <= now),
    },
    isCurrent: async () => true,
  };
}

function setEntryNow<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): () => void {
  const before = map.get(key);
  map.set(key, value);
  return () => void (before === undefined ? map.delete(key) : map.set(key, before));
}
