import type { Caller } from '../../core/caller.ts';
import type { DecisionRecord } from '../../core/decision-record.ts';
import { SignalboxError } from '../../core/errors.ts';
import { idText, parseId } from '../../core/id.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import type { Log } from '../../host/telemetry/log.ts';
import type { StoredContent } from '../../store/records.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';
import { FULL_SIGHT, type Sight } from './sight.ts';

/** Where kept content is, who may read it, and where a reading of it is noted. */
export interface ContentSource {
  readonly records: {
    findContent(id: number): Promise<StoredContent | null>;
    find(id: number): Promise<Pick<DecisionRecord, 'keyId' | 'user'> | null>;
  };
  lease(): { readonly snapshot: Pick<PolicySnapshot, 'content'> };
  readonly log: Pick<Log, 'info'>;
}

/** Kept content with the ID of its decision, `dec_…`. */
export interface DecisionContent extends StoredContent {
  readonly decision: string;
}

/**
 * Reads the text of a request and its answer, and logs that it was read.
 * @param id `dec_…`
 * @throws SignalboxError `not_found` where none was kept, also for a request of others; `insufficient_permissions` for one's own where
 * the policy does not show it
 */
export async function readContent(
  by: Principal,
  { records, lease, log }: ContentSource,
  id: string,
  sight = FULL_SIGHT,
): Promise<DecisionContent> {
  const reach = checkAction(by.caller, 'content.read');
  if (reach !== 'all' && !lease().snapshot.content?.isOwnReadable) {
    const message =
      'Kept texts are shown to owners and administrators alone, unless the policy says `records.content.readable_by: own`.';
    throw new SignalboxError('insufficient_permissions', message);
  }
  const number = parseId('dec_', id);
  const isShown = number !== null && (reach === 'all' || (await isOwn(await records.find(number), by.caller, sight)));
  const found = isShown ? await records.findContent(number) : null;
  if (number === null || !found) {
    throw new SignalboxError(
      'not_found',
      'There is no text of this decision’s request and answer. Text is stored when the request ends, if the policy has `records.content`.',
    );
  }
  const decision = idText('dec_', number);
  // Reading others' texts leaves a trace.
  log.info('stored content was read', { decision, key: by.caller.keyId });
  return { ...found, decision };
}

/** Whether the words are the caller's: of its user at the time, as a key may have come from somebody else since, and of a key that is its own still. */
async function isOwn(
  record: Pick<DecisionRecord, 'keyId' | 'user'> | null,
  { user }: Caller,
  sight: Sight,
): Promise<boolean> {
  if (!record || user === undefined || record.user !== user) return false;
  return (await sight.idsWithin('own'))?.has(record.keyId) ?? false;
}
