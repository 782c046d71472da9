import type { Caller } from '../../core/people/caller.ts';
import type { RecordReader } from '../../gateway/records/records.ts';
import { decideAgain } from '../../gateway/request/decide-again.ts';
import { visibleRecord } from '../../gateway/request/explain.ts';
import type { Gateway } from '../../gateway/request/gateway.ts';
import type { Principal } from './principal.ts';
import type { RepeatedDecision } from './repeated-decision.ts';
import { checkAction } from './roles.ts';
import { FULL_SIGHT } from './sight.ts';

/** The services that decide a recorded request again. */
export interface RepeatSources extends Pick<Gateway, 'lease'> {
  readonly records: Pick<RecordReader, 'find' | 'findRequest'>;
  /** Adds to a caller the terms of its user, team and organization. */
  levelsOf(caller: Caller): Caller;
}

/**
 * Decides a recorded request with the active policy, without storing a record.
 * @param id `dec_…`
 * @throws SignalboxError `not_found`, also for a decision of another person
 */
export async function repeatDecision(
  by: Principal,
  sources: RepeatSources,
  id: string,
  sight = FULL_SIGHT,
): Promise<RepeatedDecision> {
  const keyIds = await sight.idsWithin(checkAction(by.caller, 'decisions.repeat'));
  const record = await visibleRecord(sources.records, id, keyIds);
  const { revision, facts, certificate, refusal } = decideAgain(sources, record, sources.levelsOf);
  return { record, revision, facts, certificate, refusal: refusal ?? certificate?.refusal ?? null };
}
