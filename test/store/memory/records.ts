import { type DecisionRecord, modelOf, statusOf, summaryOf } from '../../../src/core/decision-record.ts';
import { idAt } from '../../../src/core/id.ts';
import type { Revision } from '../../../src/core/revision.ts';
import type {
  ReadingsDifferences,
  RecordEntry,
  RecordLog,
  RecordQuery,
  RecordTables,
  StoredContent,
} from '../../../src/store/records.ts';
import { scrub } from '../../../src/telemetry/secrets.ts';
import { type MemoryStore, MemoryTable, refuse } from './store.ts';

/** A record as it is stored: what its caller writes into its arrays later changes nothing. */
function copyOf(record: DecisionRecord): DecisionRecord {
  const copy = structuredClone(record);
  return { ...copy, facts: { ...copy.facts, languages: copy.facts.languages.map(scrub) } };
}

function entryOf(record: DecisionRecord): RecordEntry {
  const { id, keyId, facts, team, user, session } = record;
  const { task, operation } = facts;
  const names = { model: modelOf(record), task, status: statusOf(record), operation };
  return { id, keyId, ...names, team, user, session, summary: structuredClone(summaryOf(record)) };
}

function isMatch(entry: RecordEntry, own: DecisionRecord['labels'], query: RecordQuery): boolean {
  const { from, to, after, newerThan, labels = {} } = query;
  if (newerThan !== undefined && entry.id <= newerThan) return false;
  if (from !== undefined && entry.id < idAt(from)) return false;
  if (to !== undefined && entry.id >= idAt(to)) return false;
  if (after !== undefined && entry.id >= after) return false;
  if (query.keyIds !== undefined && !query.keyIds.includes(entry.keyId)) return false;
  const filters = ['keyId', 'model', 'task', 'status', 'operation', 'session', 'team', 'user'] as const;
  if (filters.some((name) => query[name] !== undefined && query[name] !== entry[name])) return false;
  return Object.entries(labels).every(
    ([name, value]) => own !== null && Object.hasOwn(own, name) && own[name] === value,
  );
}

/**
 * Deletes rows by their key.
 * @returns the number deleted
 */
async function pruneBelow<Row>(
  store: MemoryStore,
  table: MemoryTable<number, Row>,
  keyOf: (row: Row) => number,
  isDue: (row: Row) => boolean,
): Promise<number> {
  const due = table.rows().filter(isDue);
  await store.commit([store.write(() => due.forEach((row) => void table.delete(keyOf(row))))]);
  return due.length;
}

function memoryRecordLog(store: MemoryStore): RecordLog {
  const records = new MemoryTable<number, DecisionRecord>(store);
  return {
    add(record) {
      const copy = copyOf(record);
      return store.write(() => records.put(copy.id, copy));
    },
    find: async (id) => structuredClone(records.get(id) ?? null),
    async list(query) {
      const matching = records.rows().filter((record) => isMatch(entryOf(record), record.labels, query));
      const page = matching.sort((one, other) => other.id - one.id).slice(0, query.limit);
      return { entries: page.map(entryOf), next: matching.length > query.limit ? page.at(-1)!.id : null };
    },
    index: async () => false,
    prune: (beforeId) =>
      pruneBelow(
        store,
        records,
        ({ id }) => id,
        ({ id }) => id < beforeId,
      ),
  };
}

/** The repositories of records. */
export function memoryRecords(store: MemoryStore): RecordTables {
  const readings = new MemoryTable<number, { readonly number: number; readonly differences: ReadingsDifferences }>(
    store,
  );
  const revisions = new MemoryTable<string, Revision>(store);
  const contents = new MemoryTable<number, StoredContent & { readonly decision: number }>(store);
  return {
    log: memoryRecordLog(store),
    readings: {
      add: (number, differences) =>
        store.write(() => {
          if (!readings.get(number)) readings.put(number, { number, differences: structuredClone(differences) });
        }),
      find: async (number) => readings.get(number)?.differences ?? null,
      prune: (before) =>
        pruneBelow(
          store,
          readings,
          ({ number }) => number,
          ({ number }) => number < before,
        ),
    },
    revisions: {
      save: (revision) =>
        store.write(() => {
          const { source, models } = revisions.get(revision.revision) ?? revision;
          revisions.put(revision.revision, { ...revision, source, models });
        }),
      find: async (revision) => revisions.get(revision) ?? null,
      async findByPrefix(prefix) {
        const found = revisions.rows().filter(({ revision }) => revision.startsWith(prefix));
        return found
          .sort((one, other) => other.saved - one.saved)
          .slice(0, 100)
          .map(({ revision }) => revision);
      },
      pruneBefore: (time) =>
        store.write(() => {
          const all = revisions.rows();
          const inForce = Math.max(...all.map(({ saved }) => saved).filter((saved) => saved < time));
          for (const { revision, saved } of all) if (saved < inForce) revisions.delete(revision);
        }),
    },
    contents: {
      add(decision, content) {
        // As it is read again: members that are undefined are not there.
        const copy: StoredContent = JSON.parse(JSON.stringify(content));
        return store.write(() => {
          if (contents.get(decision)) refuse('a decision has one content');
          contents.put(decision, { ...copy, decision });
        });
      },
      async find(decision, now) {
        const { decision: _, ...content } = contents.get(decision) ?? { decision, until: now };
        return 'isCut' in content && content.until > now ? content : null;
      },
      prune: (now) =>
        pruneBelow(
          store,
          contents,
          ({ decision }) => decision,
          ({ until }) => until <= now,
        ),
    },
    isCurrent: async () => true,
  };
}
