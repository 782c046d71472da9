import { type DecisionRecord, modelOf, statusOf } from '../../../core/decision/record.ts';
import type { RefusalRecord } from '../../../core/decision/refusal.ts';
import { isEmpty } from '../../../core/json/object.ts';
import { hasSecret, scrub } from '../../../host/telemetry/secrets.ts';
import { UnreadableRecord } from '../../records.ts';
import type { SqlValue } from '../statement.ts';
import { decodeBody, encodeBody, encodeRefusal, type RecordHead } from './body.ts';

/** The columns of a record, in the order of their values. */
export const RECORD_COLUMNS = `id, time, key_id, kind, operation, status, model, task, labels, revision, frame,
    body, session, team_id, user_id, code, request`;
/** The columns of `records` that a `RecordRow` has. */
export const RECORD_ROW = `id, time, key_id AS keyId, kind, revision, frame AS readingsNumber, body, labels, session,
    team_id AS team, user_id AS "user", request`;
/** The value of `kind` of a refusal, which has no decision. */
const REFUSED = 'refused';

export type RecordRow = Omit<RecordHead, 'kind'> & {
  readonly kind: RecordHead['kind'] | typeof REFUSED;
  readonly body: string;
  /** The key's labels as JSON. */
  readonly labels: string;
};

/** Returns the values of a record's columns. */
export const recordValues = (record: DecisionRecord): readonly SqlValue[] => [
  record.id,
  record.time,
  record.keyId,
  record.kind,
  record.facts.operation,
  statusOf(record),
  modelOf(record),
  record.facts.task,
  labelsText(record.labels),
  record.revision,
  record.readingsNumber,
  bodyOf(record),
  record.session,
  record.team,
  record.user,
  record.outcome?.error ?? null,
  record.request,
];

/** Returns the values of a refusal's columns. */
export const refusalValues = (refusal: RefusalRecord): readonly SqlValue[] => [
  ...[refusal.id, refusal.time, refusal.keyId, REFUSED, refusal.operation ?? '', REFUSED, refusal.model, ''],
  ...[labelsText(refusal.labels), '', null, encodeRefusal(refusal), refusal.session],
  ...[refusal.team, refusal.user, refusal.code, refusal.id],
];

const labelsText = (labels: DecisionRecord['labels']): string => (isEmpty(labels) ? '{}' : JSON.stringify(labels));

/**
 * Returns the text of a record's body. The only texts from a caller in a body are languages and metadata; secrets in the metadata were
 * already removed.
 */
function bodyOf(record: DecisionRecord): string {
  const body = encodeBody(record);
  return record.facts.languages.length > 0 && hasSecret(body) ? scrub(body) : body;
}

/** Decodes a row of a record. @returns null for a refusal @throws UnreadableRecord for a row that was edited */
export function decodeRow({ kind, body, labels, ...head }: RecordRow): DecisionRecord | null {
  if (kind === REFUSED) return null;
  try {
    const record: DecisionRecord = { ...head, kind, ...decodeBody(body), labels: JSON.parse(labels) };
    checkParts(record);
    return record;
  } catch (cause) {
    throw new UnreadableRecord({ cause });
  }
}

/** @throws Error if a part of the row is missing */
function checkParts({ facts, choice, fallbacks, lastResorts }: DecisionRecord): void {
  const lists: readonly unknown[] = [fallbacks, lastResorts, facts.languages, facts.mix, facts.cached];
  const isWhole = typeof choice === 'string' && typeof facts.needs === 'number' && lists.every(Array.isArray);
  if (!isWhole || typeof facts.ceilings !== 'object') throw new Error('a part is missing');
}
