import type { DecisionRecord } from '../core/decision-record.ts';
import type { MeasuredCatalog, Readings } from '../core/readings.ts';
import type { Revision } from '../core/revision.ts';
import type { RecordTables } from '../store/records.ts';
import { findFrame } from './frames.ts';

/** Reads stored decisions. Everything is null if absent, or deleted. */
export interface RecordReader {
  /** @throws UnreadableRecord */
  find(id: number): Promise<DecisionRecord | null>;
  /** Null, too, if its row was edited. */
  findRevision(revision: string): Promise<Revision | null>;
  /** The readings of a record's frame, under the policy of the record. */
  findFrame(number: number, watched: MeasuredCatalog): Promise<Readings | null>;
}

export const openRecordReader = ({ log, revisions, frames }: RecordTables): RecordReader => ({
  find: (id) => log.find(id),
  findRevision: (revision) => revisions.find(revision),
  findFrame: (number, watched) => findFrame(frames, number, watched),
});
