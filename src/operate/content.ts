import { SignalboxError } from '../core/errors.ts';
import { idText, parseId } from '../core/id.ts';
import type { StoredContent } from '../store/records.ts';
import type { Log } from '../telemetry/log.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** Where kept content is, and where a reading of it is noted. */
export interface ContentSource {
  readonly records: { findContent(id: number): Promise<StoredContent | null> };
  readonly log: Pick<Log, 'info'>;
}

/** Kept content with the ID of its decision, `dec_…`. */
export interface DecisionContent extends StoredContent {
  readonly decision: string;
}

/**
 * Reads the text of a request and its answer, and logs that it was read.
 * @param id `dec_…`
 * @throws SignalboxError `not_found` where none was kept
 */
export async function readContent(
  by: Principal,
  { records, log }: ContentSource,
  id: string,
): Promise<DecisionContent> {
  checkAction(by.caller, 'content.read');
  const number = parseId('dec_', id);
  const found = number === null ? null : await records.findContent(number);
  if (number === null || !found) {
    throw new SignalboxError('not_found', 'The text of this decision’s request and answer was not kept.');
  }
  const decision = idText('dec_', number);
  // Reading others' texts leaves a trace.
  log.info('stored content was read', { decision, key: by.caller.keyId });
  return { ...found, decision };
}
