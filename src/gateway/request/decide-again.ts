import type { DecisionRecord } from '../../core/decision/record.ts';
import { SignalboxError } from '../../core/errors.ts';
import { type Caller, OPERATOR } from '../../core/people/caller.ts';
import { buildOf } from '../../core/policy/build.ts';
import type { SentFallbacks } from '../../core/request/conversation.ts';
import type { Facts } from '../../core/request/facts.ts';
import { listedModels } from '../../core/request/fallbacks.ts';
import { type Runtime, strategyOf } from '../../policy/runtime/runtime.ts';
import { runtimeFor } from '../../policy/runtime/wildcard-runtime.ts';
import { type Certificate, certify } from '../../routing/certify.ts';
import { targetOf } from '../../routing/model-name.ts';
import { withRules } from '../../routing/rules.ts';
import { withFirstTier } from '../../routing/tiers.ts';
import type { Gateway } from './gateway.ts';

/** The decision that the active policy makes for a recorded request. */
interface RepeatedDecision {
  readonly revision: string;
  readonly facts: Facts;
  /** The decision; null if the request would be refused before any model is considered. */
  readonly certificate: Certificate | null;
  /** The error, if the request would be refused; null if a model would be chosen. */
  readonly refusal: SignalboxError | null;
}

/**
 * Decides a recorded request with the given policy and the current readings, at the recorded time, and stores nothing. Conditions see only
 * what a record stores: no `user`, and only those keys of `metadata` that the policy records.
 * @param levelsOf returns the caller with the terms of its organization, team, user and parent keys
 */
export function decideAgain(
  { lease }: Pick<Gateway, 'lease'>,
  record: DecisionRecord,
  levelsOf: (caller: Caller) => Caller,
): RepeatedDecision {
  const whole = lease();
  const { facts } = record;
  const { fallbacks, ...read } = facts;
  const value = fallbacks?.by === 'request' ? listedModels(fallbacks) : undefined;
  const sent: SentFallbacks | undefined = value && { field: 'fallbacks', value };
  try {
    const name = facts.alias ?? facts.model;
    const runtime = runtimeFor(whole, name);
    const caller = levelsOf(callerOf(record));
    const again = factsNow(record, { ...read, ...targetOf(name, caller, runtime.snapshot, sent) }, caller, runtime);
    const given = { id: record.id, seed: record.seed, readings: runtime.readings() };
    const certificate = certify(runtime.snapshot, again, { ...given, ...strategyOf(again, runtime) });
    return { revision: buildOf(whole.snapshot), facts: again, certificate, refusal: null };
  } catch (refusal) {
    if (!(refusal instanceof SignalboxError)) throw refusal;
    return { revision: buildOf(whole.snapshot), facts, certificate: null, refusal };
  }
}

const callerOf = ({ keyId, labels, team, user, facts: { allowedModels, deniedModels } }: DecisionRecord): Caller => ({
  ...OPERATOR,
  keyId,
  labels,
  models: allowedModels && new Set(allowedModels),
  ...(deniedModels && { notModels: new Set(deniedModels) }),
  ...(team !== null && { team }),
  ...(user !== null && { user }),
});

function factsNow(
  { stream, metadata, time }: DecisionRecord,
  facts: Facts,
  caller: Caller,
  { snapshot, localTime, readings }: Runtime,
): Facts {
  // A record without a tier has only the difficulty of the last question. A stuck agent says nothing about the first one.
  const isHard = facts.difficulty === 'hard' && facts.stuck === undefined;
  const tiered = withFirstTier(facts, snapshot, () => facts.tier?.hard ?? (isHard ? 1 : 0));
  const inputs = { stream: stream ?? false, user: '', metadata, caller, time: localTime(time), readings: readings() };
  return withRules(tiered, snapshot, inputs, () => {});
}
