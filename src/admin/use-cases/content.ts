import type { DecisionRecord } from '../../core/decision/record.ts';
import { SignalboxError } from '../../core/errors.ts';
import { idText, parseId } from '../../core/id.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { Log } from '../../host/telemetry/log.ts';
import type { StoredContent } from '../../store/records.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';
import { FULL_SIGHT, type Sight } from './sight.ts';

/** The services to read stored content, check who may read it, and log the access. */
export interface ContentSource {
  readonly records: {
    findContent(id: number): Promise<StoredContent | null>;
    find(id: number): Promise<Pick<DecisionRecord, 'keyId' | 'user'> | null>;
  };
  lease(): { readonly snapshot: Pick<PolicySnapshot, 'records'> };
  readonly log: Pick<Log, 'info'>;
}

/** Stored content with the ID of its decision, `dec_…`. */
export interface DecisionContent extends StoredContent {
  readonly decision: string;
}

/**
 * Reads the text of a request and its answer, and logs the access.
 * @param id `dec_…`
 * @throws SignalboxError `not_found` if no text was stored, or if the request is of another person; `insufficient_permissions` if the
 * policy does not let people read the texts of their own requests
 */
export async function readContent(
  by: Principal,
  { records, lease, log }: ContentSource,
  id: string,
  sight = FULL_SIGHT,
): Promise<DecisionContent> {
  const reach = checkAction(by.caller, 'content.read');
  if (reach !== 'all' && !lease().snapshot.records.content?.isOwnReadable) {
    const message =
      'Only owners and administrators may read stored texts, unless the policy has `records.content.readable_by: own`.';
    throw new SignalboxError('insufficient_permissions', message);
  }
  const number = parseId('dec_', id);
  const isShown = number !== null && (reach === 'all' || (await isOwn(await records.find(number), by.caller, sight)));
  const found = isShown ? await records.findContent(number) : null;
  if (number === null || !found) {
    throw new SignalboxError(
      'not_found',
      'No text is stored for this decision’s request and answer. Text is stored when the request ends, if the policy has `records.content`.',
    );
  }
  const decision = idText('dec_', number);
  // The log must show who read the texts of other people.
  log.info('stored content was read', { decision, key: by.caller.keyId });
  return { ...found, decision };
}

/**
 * Whether the text belongs to the caller. The record must name the caller's user, because the key may have had another owner before, and
 * the key must still be the caller's.
 */
async function isOwn(
  record: Pick<DecisionRecord, 'keyId' | 'user'> | null,
  { user }: Caller,
  sight: Sight,
): Promise<boolean> {
  if (!record || user === undefined || record.user !== user) return false;
  return (await sight.idsWithin('own'))?.has(record.keyId) ?? false;
}
