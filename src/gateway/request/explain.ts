import type { DecisionRecord } from '../../core/decision/record.ts';
import { SignalboxError } from '../../core/errors.ts';
import { parseId } from '../../core/id.ts';
import { UnreadableRecord } from '../../store/records.ts';
import type { RecordReader } from '../records/records.ts';
import { certificateOf, withoutReplay } from './certificate.ts';
import type { Gateway } from './gateway.ts';
import type { Explanation } from './recorded-certificate.ts';

/** The data that the caller of an explanation may see. */
interface ExplanationView {
  /** The IDs of the keys whose decisions the caller may see; null for all keys. */
  readonly keyIds: ReadonlySet<string> | null;
  /** Whether to repeat the decision from its record. */
  readonly replays: boolean;
  /** Whether the names of variables are shown. */
  readonly namesVariables: boolean;
}

/**
 * Explains a decision to the key that requested it, or to a caller who may see the decisions of other keys.
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
  const found = replays
    ? await certificateOf(record, { ...records, findRevision: async () => revision }, past)
    : withoutReplay(record, 'A key with the scope `report` can read the record, but cannot replay the decision.');
  const quality = found.certificate?.shares ?? {};
  return { ...found, leftOut: namesVariables ? found.leftOut : null, quality };
}

/**
 * Finds the record of a decision, for a caller who may see the decisions of some keys.
 * @param id `dec_…`, or `req_…` of the request
 * @param keyIds null for all keys
 * @throws SignalboxError `not_found`, or `internal_error` for an edited row
 */
export async function visibleRecord(
  records: Pick<RecordReader, 'find' | 'findRequest'>,
  id: string,
  keyIds: ReadonlySet<string> | null,
): Promise<DecisionRecord> {
  const number = parseId('dec_', id);
  const record =
    number === null ? await recordOfRequest(records, id, keyIds) : await records.find(number).catch(refuseUnreadable);
  // The error is `not_found`, so that another key cannot learn that the decision exists.
  if (record && keyIds?.has(record.keyId) !== false) return record;
  throw new SignalboxError(
    'not_found',
    'There is no decision with this ID, or this key cannot see it. While a request runs, only the server that handles it knows its decision. If a crash ended the request, only the ledger has its charge.',
  );
}

/** @throws SignalboxError `not_found` for a request that was refused before a decision */
async function recordOfRequest(
  records: Pick<RecordReader, 'find' | 'findRequest'>,
  id: string,
  keyIds: ReadonlySet<string> | null,
): Promise<DecisionRecord | null> {
  const request = parseId('req_', id);
  if (request === null) return null;
  const found = (await records.find(request)) ?? (await records.findRequest(request));
  if (!found || 'facts' in found) return found;
  if (found.status !== 'refused') return records.find(found.id).catch(refuseUnreadable);
  if (keyIds?.has(found.keyId) === false) return null;
  const { error, reason } = found.summary ?? {};
  throw new SignalboxError('not_found', `The request ${id} has no decision. It was refused with ${error}: ${reason}`);
}

function refuseUnreadable(cause: unknown): never {
  if (!(cause instanceof UnreadableRecord)) throw cause;
  const message = 'The record of this decision cannot be read: its row in the database is damaged.';
  throw new SignalboxError('internal_error', message, { cause });
}
