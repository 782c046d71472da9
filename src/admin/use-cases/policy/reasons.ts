import { callerLevels } from '../../../access/levels.ts';
import { levelsAbove } from '../../../access/people-copy.ts';
import { RouteRequest } from '../../../core/api/route-query.ts';
import { type Decision, REJECTIONS, type Refusal } from '../../../core/decision/decision.ts';
import type { GuardVerdict } from '../../../core/decision/verdict.ts';
import { SignalboxError } from '../../../core/errors.ts';
import { OPERATOR } from '../../../core/people/caller.ts';
import { INHERITED, NO_GROUP_TERMS } from '../../../core/people/people.ts';
import type { PolicyCase } from '../../../core/policy/case.ts';
import { mayChoose } from '../../../core/policy/found-models.ts';
import type { Facts } from '../../../core/request/facts.ts';
import type { ModelRequest } from '../../../core/request/model-request.ts';
import { toRead } from '../../../core/schema/nullable.ts';
import { orElse } from '../../../core/thrown.ts';
import { readRouteRequest } from '../../../dialects/openai-chat/reader.ts';
import { readRouteBody } from '../../../dialects/route-body.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import type { Steps } from '../../../policy/runtime/slices.ts';
import { isRefusal } from '../../../routing/decide.ts';
import type { ModelLists } from '../../../routing/model-name.ts';
import { violatedConstraints } from '../../../routing/rejections.ts';
import { vectorSpaceOf } from '../../../routing/rules.ts';
import { decideFor, type GuardedHypothetical, guarded, hypotheticalFacts, isCachedFor } from './hypothetical.ts';

/** The time of cases and requests without a time: a Wednesday noon. The time is constant so that results do not depend on the clock. */
export const USUAL_TIME = '2026-01-07T12:00:00Z';

const dropped = toRead(RouteRequest);

/** The findings of the guards of the policy in a case; the error of the API if it would refuse the body. */
export type GuardedCase = GuardedHypothetical | SignalboxError;

/** Runs the guards of the policy on a case's request and answer. Long texts are inspected in turns of the event loop. */
export function* guardedCase({ given }: PolicyCase, runtime: Runtime): Steps<GuardedCase> {
  try {
    const { time, team, user, answer } = given;
    const request = requestOf(given);
    const { id: keyId, labels, models } = given.key;
    const levels = levelsIn(given, runtime);
    const caller = {
      ...OPERATOR,
      keyId,
      labels,
      models: models && new Set(models),
      ...(team && { team: team.id }),
      ...(user && { user: user.id }),
      ...(levels.length > 0 && { levels }),
    };
    const found = guarded({ request, caller, timeMs: Date.parse(time ?? USUAL_TIME), answer }, runtime);
    if (!(found instanceof Promise)) return found;
    let ready: GuardedCase | null = null;
    yield found.then((value) => {
      ready = value;
    });
    if (ready === null) throw new Error('the guards of a case have not ended');
    return ready;
  } catch (error) {
    if (error instanceof SignalboxError) return error;
    throw error;
  }
}

/**
 * Returns the facts of a case's request, and the rules that apply to it.
 * @throws SignalboxError like a real request
 */
export function factsOf(policyCase: PolicyCase, found: GuardedCase, runtime: Runtime): Facts {
  if (found instanceof SignalboxError) throw found;
  const { hypothetical, refusal } = found;
  if (refusal) throw refusal;
  const facts = hypotheticalFacts(hypothetical, runtime);
  const { escalated } = policyCase.given;
  const isEscalated = escalated !== undefined && runtime.snapshot.escalate.on.includes(escalated);
  return isEscalated && facts.tier ? { ...facts, escalation: { signal: escalated, turnsAgo: 0 } } : facts;
}

/** Returns the verdicts on a case's request and answer; nothing if the API would refuse its body. */
export const verdictsOn = (found: GuardedCase): readonly GuardVerdict[] =>
  found instanceof SignalboxError ? [] : found.verdicts;

/** Whether the cache of the policy applies to a case's request; false if the API would refuse its body. */
export const isCachedCase = (found: GuardedCase, runtime: Runtime): boolean =>
  !(found instanceof SignalboxError) && orElse(() => isCachedFor(found.hypothetical, runtime), false);

/** Returns the lists of models that apply to the sender of a case. */
export function listsOf({ given }: PolicyCase, runtime: Runtime): ModelLists {
  const { models } = given.key;
  return { models: models && new Set(models), levels: levelsIn(given, runtime) };
}

/** Returns the levels above the key of a case: its user and team with their terms in the policy, and the organization. */
function levelsIn({ team, user }: PolicyCase['given'], { snapshot: { teams, organization } }: Runtime) {
  const terms = teams.find(({ name }) => name === team?.name) ?? NO_GROUP_TERMS;
  const above = { team: team && { ...terms, ...team }, user: user && { ...user, terms: INHERITED } };
  return callerLevels(levelsAbove(above, organization));
}

/** @throws SignalboxError for a body that the API would refuse */
function requestOf({ query, body, model, metadata }: PolicyCase['given']): ModelRequest {
  if (body) return readRouteBody({ ...body, model, ...(Object.keys(metadata).length > 0 && { metadata }) });
  // The schema of the query was already checked when the policy was read.
  return readRouteRequest(dropped({ ...query, model, metadata }));
}

/** A decision, or the reason why there is none. */
export type CaseOutcome = Decision | Refusal | SignalboxError;

export const isDecision = (outcome: CaseOutcome): outcome is Decision => 'ranked' in outcome;

/** Returns the outcome of a case's request. */
export function outcomeOf(policyCase: PolicyCase, found: GuardedCase, runtime: Runtime): CaseOutcome {
  try {
    return decideFor(factsOf(policyCase, found, runtime), runtime);
  } catch (error) {
    if (error instanceof SignalboxError) return error;
    throw error;
  }
}

/** Returns everything that rejects a model: the names of constraints, and the kinds of other reasons. */
export function reasonsAgainst(id: string, facts: Facts, runtime: Runtime): string[] {
  const { snapshot } = runtime;
  const index = snapshot.modelIndex.get(id)!;
  const model = snapshot.models[index]!;
  const asked: Facts = { ...facts, model: id, named: [id] };
  const outcome = decideFor(asked, runtime);
  const bits = isRefusal(outcome) ? (outcome.rejected[0]?.rejections ?? 0) : 0;
  const kinds = Object.entries(REJECTIONS).filter(([, { bit }]) => (bits & bit) !== 0);
  const selector = snapshot.selectors.get(facts.model);
  // A selector never chooses a model of a wildcard.
  const isUnselected =
    facts.named === null && (snapshot.isOfWildcard || (selector !== undefined && !mayChoose(selector, model, index)));
  const rules =
    (bits & REJECTIONS.constraint.bit) === 0
      ? []
      : violatedConstraints(model, bits, { facts: asked, readings: outcome.readings, snapshot }).map(
          ({ name }) => name,
        );
  const space = vectorSpaceOf(facts, snapshot);
  const isElsewhere = space !== undefined && model.embedding !== null && model.embedding.vectorSpace !== space;
  return [
    ...rules,
    ...kinds.map(([kind]) => kind),
    ...(isUnselected ? ['selector'] : []),
    ...(isElsewhere ? ['vector_space'] : []),
  ];
}
