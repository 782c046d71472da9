import type { DecisionRecord } from '../../core/decision-record.ts';
import { SignalboxError } from '../../core/errors.ts';
import { parseId } from '../../core/id.ts';
import { UnreadableRecord } from '../../store/records.ts';
import type { RecordReader } from '../records/records.ts';
import { certificateOf, type RecordedCertificate, withoutReplay } from './certificate.ts';
import type { Gateway } from './gateway.ts';

/** A recorded decision with its certificate and qualities. */
export interface Explanation extends RecordedCertificate {
  /** Quality by model ID. */
  readonly quality: Readonly<Record<string, number>>;
}

/** What the asker of an explanation may see. */
interface ExplanationView {
  /** The keys whose decisions it may see, by their IDs; null for those of all keys. */
  readonly keyIds: ReadonlySet<string> | null;
  /** Whether the decision is decided again from its record. */
  readonly replays: boolean;
  /** Whether the names of variables are shown. */
  readonly namesVariables: boolean;
}

/**
 * Explains a decision to the key that asked, or to one who may see those of others.
 * @param id `dec_…`
 * @throws SignalboxError `not_found`, or `internal_error` for an edited row
 */
export async function explain(
  { records, past }: { readonly records: RecordReader } & Pick<Gateway, 'past'>,
  id: string,
  { keyIds, replays, namesVariables }: ExplanationView,
): Promise<Explanation> {
  const record = await visibleRecord(records, id, keyIds);
  const revision = await records.findRevision(record.revision);
  const { facts } = record;
  // A wildcard's model was its only candidate, and nobody states its quality.
  const isListed = !facts.pinned || revision?.models.includes(facts.model);
  const models = isListed ? (revision?.models ?? []) : [];
  const found = replays
    ? await certificateOf(record, { ...records, findRevision: async () => revision }, past)
    : withoutReplay(record, 'A key with the scope `report` reads the record and does not replay it.');
  // The record has what the models were ranked by, unless that is what the policy declares.
  const counted = record.quality && Object.fromEntries(models.map((model, at) => [model, record.quality?.[at] ?? 0]));
  const shares = found.matches || counted === null ? found.certificate?.shares : null;
  const quality = shares ?? counted ?? {};
  return { ...found, leftOut: namesVariables ? found.leftOut : null, quality };
}

/**
 * Finds the record of a decision for one who may see those of some keys.
 * @param id `dec_…`
 * @param keyIds null for all keys
 * @throws SignalboxError `not_found`, or `internal_error` for an edited row
 */
export async function visibleRecord(
  records: Pick<RecordReader, 'find'>,
  id: string,
  keyIds: ReadonlySet<string> | null,
): Promise<DecisionRecord> {
  const number = parseId('dec_', id);
  const record = number === null ? null : await records.find(number).catch(refuseUnreadable);
  // Another key must not learn that the decision exists.
  if (record && keyIds?.has(record.keyId) !== false) return record;
  throw new SignalboxError(
    'not_found',
    'There is no decision with this ID, or this key cannot see it. While its request runs, only the server that decided it knows the decision. If a crash ended the request, only the ledger has its charge.',
  );
}

function refuseUnreadable(cause: unknown): never {
  if (!(cause instanceof UnreadableRecord)) throw cause;
  const message = 'The record of this decision cannot be read: its row in the database is damaged.';
  throw new SignalboxError('internal_error', message, { cause });
}
