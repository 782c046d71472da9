import { callerLevels, type PeopleTerms } from '../../../access/levels.ts';
import { type Caller, OPERATOR } from '../../../core/caller.ts';
import { refuse, SignalboxError } from '../../../core/errors.ts';
import { measuredModels, priorReadings, type Readings } from '../../../core/readings.ts';
import type { PolicySnapshot } from '../../../core/snapshot.ts';
import { readRouteBody } from '../../../dialects/route-body.ts';
import { QuestionLengths } from '../../../gateway/prompt/question-lengths.ts';
import type { Gateway } from '../../../gateway/request/gateway.ts';
import { compileCandidate, isRejected } from '../../../policy/runtime/candidate.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import { meaningOf } from '../../../routing/model-name.ts';
import type { Team, User } from '../../../store/people.ts';
import type { Principal } from '../principal.ts';
import { isWithin } from '../reach.ts';
import { checkAction, type Reach } from '../roles.ts';
import { judgeOfSent, type NamedPolicy, orRefused, type PolicyDesk, sourceOf } from './desk.ts';
import { explainRequest } from './explain.ts';
import { explanationBody } from './explanation-body.ts';
import { momentOf, unknownSender } from './hypothetical.ts';
import { bodyOf } from './tools.ts';

/** All that a request would be decided by on this server. */
export interface ExplanationDesk extends PolicyDesk {
  readonly gateway: Pick<Gateway, 'lease' | 'questionLengths' | 'ledger' | 'affinity' | 'counter' | 'now'>;
  /** The caller that a key stands for now; null for none that works. */
  callerOf(id: string): Caller | null;
  readonly people: Pick<PeopleTerms, 'termsOf'> & {
    team(id: string): Team | null;
    teamNamed(name: string): Team | null;
    user(id: string): User | null;
  };
}

/** A request that is decided and never sent. */
export interface ExplanationQuery {
  readonly request: unknown;
  /** Whom it comes from: a key, a user or a team; none of them for nobody. */
  readonly key?: string | undefined;
  readonly user?: string | undefined;
  readonly team?: string | undefined;
  /** ISO 8601; now unless stated. */
  readonly time?: string | undefined;
  /** Absent for the policy in force. */
  readonly policy?: NamedPolicy | undefined;
}

/**
 * Explains the decision that a request would get now, by the present readings, estimates and money. It leaves no record, holds no money
 * and counts in no limit of a caller.
 * @throws SignalboxError as the request would
 */
export async function explainServed(by: Principal, desk: ExplanationDesk, query: ExplanationQuery): Promise<object> {
  const reach = checkAction(by.caller, 'policy.explain');
  if (reach !== 'all' && query.policy) checkAction(by.caller, 'policy.check');
  return await desk.turns.explain(by.caller.keyId, () => orRefused(() => explained(by, reach, desk, query)));
}

async function explained(by: Principal, reach: Reach, desk: ExplanationDesk, query: ExplanationQuery): Promise<object> {
  const { gateway } = desk;
  const inForce = gateway.lease();
  const caller = callerIn(by, reach, query, desk);
  const runtime = query.policy ? await builtFor(by, query.policy, desk) : inForce;
  const isInForce = runtime === inForce;
  const request = readRouteBody(bodyOf(query.request));
  const timeMs = query.time === undefined ? gateway.now() : momentOf('`time`', query.time);
  const readings = isInForce ? inForce.readings() : readingsAlike(runtime.snapshot, inForce);
  const { labels, models, levels = NO_LEVELS } = caller ?? NOBODY;
  const key = { id: caller?.keyId ?? NOBODY.keyId, labels, models: models && [...models], levels };
  const explanation = await explainRequest(
    {
      request,
      key,
      caller: caller ?? NOBODY,
      timeMs,
      funds: caller && fundsOf(caller, request.model, runtime, desk),
    },
    runtime,
    {
      // A policy that is only tried is explained as on a new server.
      lengths: isInForce ? gateway.questionLengths : new QuestionLengths(),
      readings: (own) => (isInForce ? own.readings() : own === runtime ? (readings ?? undefined) : undefined),
      recall: (facts, own) => gateway.affinity.history(key.id, request).recall(facts, own.snapshot),
      counter: gateway.counter,
    },
  );
  return explanationBody(explanation, { isMeasured: readings !== null, isFunded: caller !== null });
}

const NO_LEVELS: readonly [] = [];
/** The sender where none is named. */
const NOBODY: Caller = { ...OPERATOR, keyId: 'explain' };

/** The money that a request would draw on. A model that is not known has none, and is refused later. */
function fundsOf(caller: Caller, model: string, { snapshot }: Runtime, { gateway }: ExplanationDesk) {
  const { model: meant } = meaningOf(model, snapshot);
  const isKnown =
    snapshot.selectors.has(meant) || snapshot.modelIndex.has(meant) || snapshot.wildcards?.find(meant) != null;
  return isKnown ? gateway.ledger.availableFunds(caller, meant, gateway.now()) : null;
}

/**
 * The caller that a request is explained for; null for nobody. Who sees no keys names none, and a person who sees only its own asks as
 * itself, or as its keys.
 */
function callerIn(
  { caller: by }: Principal,
  reach: Reach,
  query: ExplanationQuery,
  desk: ExplanationDesk,
): Caller | null {
  const named = [query.key, query.user, query.team].filter((one) => one !== undefined);
  if (named.length > 1) {
    refuse('key', 'State one of `key`, `user` and `team`.');
  }
  if (query.key !== undefined) return ofKey(by, query.key, desk);
  const isMember = reach !== 'all';
  if (query.team === undefined && (query.user !== undefined || isMember))
    return ofUser(by, query.user ?? by.user ?? '', desk);
  if (query.team === undefined) return null;
  const team = desk.people.team(query.team) ?? desk.people.teamNamed(query.team);
  checkAction(by, 'people.read');
  const isWithinReach = !isMember || (reach === 'team' && team?.id === by.team);
  if (!team || team.removedAt !== null || !isWithinReach) throw unknownSender('team');
  return leveled({ ...NOBODY, team: team.id }, desk);
}

function ofKey(by: Caller, id: string, desk: ExplanationDesk): Caller {
  const reach = checkAction(by, 'keys.read');
  const found = desk.callerOf(id);
  const { team = null, user = null } = found ?? {};
  if (!found || !isWithin(reach, by, { id, team, user })) throw unknownSender('key');
  return leveled(found, desk);
}

function ofUser(by: Caller, id: string, desk: ExplanationDesk): Caller {
  const reach = checkAction(by, 'people.read');
  const user = desk.people.user(id);
  const isWithinReach =
    reach === 'all' || id === by.user || (reach === 'team' && user !== null && user.team === by.team);
  if (!user || user.removedAt !== null || !isWithinReach) throw unknownSender('user');
  return leveled({ ...NOBODY, user: id, ...(user.team !== null && { team: user.team }) }, desk);
}

function leveled(caller: Caller, { people }: ExplanationDesk): Caller {
  const levels = callerLevels(people.termsOf(caller));
  return levels.length === 0 ? caller : { ...caller, levels };
}

/** Builds the policy of a request, or takes it as it was built for the last one. @throws SignalboxError */
async function builtFor(by: Principal, named: NamedPolicy, desk: ExplanationDesk): Promise<Runtime> {
  const source = await sourceOf(
    named,
    desk,
    judgeOfSent(desk, () => false),
  );
  // Which plugins and variables there are depends on the policy in force.
  const name = `${desk.inForce().runtime.snapshot.revision} ${source.kind} ${source.bundle.hash}`;
  const found = desk.turns.built(name);
  if (found) return found;
  return await desk.turns.take(by.caller.keyId, async (isStale) => {
    const judge = judgeOfSent(desk, isStale);
    const candidate = await compileCandidate(source.bundle, { ...judge, loader: source.loader, folder: source.folder });
    if (isRejected(candidate)) {
      const details = { diagnostics: candidate.problems };
      throw new SignalboxError('policy_invalid', candidate.message ?? 'The policy has errors.', { details });
    }
    desk.turns.keep(name, candidate.runtime);
    return candidate.runtime;
  });
}

/**
 * The present measurements for another policy than that in force: those of the endpoints that both have, by their names. An endpoint that
 * is not in force has the figures of its policy.
 * @returns null where they have no endpoint in common
 */
function readingsAlike(snapshot: PolicySnapshot, inForce: Runtime): Readings | null {
  const present = inForce.readings();
  const slots = new Map(
    measuredModels(inForce.snapshot).flatMap(({ id, firstSlot, endpoints }) =>
      endpoints.map(({ provider, upstream }, at) => [nameOf(id, provider, upstream), firstSlot + at] as const),
    ),
  );
  const readings = priorReadings(snapshot);
  let shared = 0;
  for (const { id, firstSlot, endpoints } of measuredModels(snapshot)) {
    for (const [at, { provider, upstream }] of endpoints.entries()) {
      const from = slots.get(nameOf(id, provider, upstream));
      if (from === undefined) continue;
      shared++;
      for (const figure of ['ttftMs', 'warmTtftMs', 'tokensPerSecond', 'health', 'retryAt'] as const) {
        readings[figure][firstSlot + at] = present[figure][from] ?? 0;
      }
    }
  }
  const allHealthy = readings.health.every((health) => health === 0);
  return shared === 0 ? null : { ...readings, ...inForce.outputs.lengthsFor(snapshot), allHealthy };
}

const nameOf = (model: string, provider: string, upstream: string): string =>
  JSON.stringify([model, provider, upstream]);
