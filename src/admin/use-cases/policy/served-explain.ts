import { callerLevels, type PeopleTerms } from '../../../access/levels.ts';
import { measuredModels, priorReadings, type Readings } from '../../../core/decision/readings.ts';
import { refuse, SignalboxError } from '../../../core/errors.ts';
import { type Caller, OPERATOR } from '../../../core/people/caller.ts';
import type { Endpoint } from '../../../core/policy/snapshot.ts';
import { readRouteBody } from '../../../dialects/route-body.ts';
import type { Gateway } from '../../../gateway/request/gateway.ts';
import { compileCandidate, isRejected } from '../../../policy/runtime/candidate.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import type { AccountOf } from '../../../providers/health/health.ts';
import { meaningOf } from '../../../routing/model-name.ts';
import type { Team, User } from '../../../store/people.ts';
import type { Principal } from '../principal.ts';
import { isWithin } from '../reach.ts';
import { checkAction, type Reach } from '../roles.ts';
import { judgeOfSent, type NamedPolicy, orRefused, type PolicyDesk, sourceOf } from './desk.ts';
import { explainRequest, type RequestExplanation } from './explain.ts';
import { unknownSender } from './key-funds.ts';
import { bodyOf } from './tools.ts';

/** Everything that this server uses to decide a request. */
export interface ExplanationDesk extends PolicyDesk {
  readonly gateway: Pick<Gateway, 'lease' | 'ledger' | 'affinity' | 'counter' | 'now'>;
  /** Returns the caller that a key represents now; null if the key does not work. */
  callerOf(id: string): Caller | null;
  readonly people: Pick<PeopleTerms, 'termsOf'> & {
    team(id: string): Team | null;
    teamNamed(name: string): Team | null;
    user(id: string): User | null;
  };
}

/** A request to decide without sending it. */
export interface ExplanationQuery {
  readonly request: unknown;
  /** The sender: a key, a user or a team; all three are absent for a request without a sender. */
  readonly key?: string | undefined;
  readonly user?: string | undefined;
  readonly team?: string | undefined;
  /** ms since 1970; by default now */
  readonly time?: number | undefined;
  /** The policy to explain; absent for the active policy. */
  readonly policy?: NamedPolicy | undefined;
}

/** An explanation of the active policy, or of another one with the current measurements. */
export interface ServedExplanation {
  readonly explanation: RequestExplanation;
  /** Whether current measurements were used. */
  readonly isMeasured: boolean;
  /** Whether the money of the sender was considered. */
  readonly isFunded: boolean;
}

/**
 * Explains the decision that a request would get now, with current measurements, estimates and money. Stores no record, holds no money and
 * does not count against limits of a caller.
 * @throws SignalboxError like the request
 */
export async function explainServed(
  by: Principal,
  desk: ExplanationDesk,
  query: ExplanationQuery,
): Promise<ServedExplanation> {
  const reach = checkAction(by.caller, 'policy.explain');
  if (reach !== 'all' && query.policy) checkAction(by.caller, 'policy.check');
  return await desk.turns.explain(by.caller.keyId, () => orRefused(() => explained(by, reach, desk, query)));
}

async function explained(
  by: Principal,
  reach: Reach,
  desk: ExplanationDesk,
  query: ExplanationQuery,
): Promise<ServedExplanation> {
  const { gateway } = desk;
  const active = gateway.lease();
  const sender = callerIn(by, reach, query, desk);
  const caller = sender ?? NOBODY;
  const runtime = query.policy ? await builtFor(by, query.policy, desk) : active;
  const isActive = runtime === active;
  const request = readRouteBody(bodyOf(query.request));
  const { time: timeMs = gateway.now() } = query;
  const readings = isActive ? active.readings() : readingsAlike(runtime, active);
  const explanation = await explainRequest(
    { request, caller, timeMs, funds: sender && fundsOf(sender, request.model, runtime, desk) },
    runtime,
    {
      readings: (own) => (isActive ? own.readings() : own === runtime ? (readings ?? undefined) : undefined),
      recall: (facts, own) => gateway.affinity.history(caller.keyId, request).recall(facts, own.snapshot),
      counter: gateway.counter,
    },
  );
  return { explanation, isMeasured: readings !== null, isFunded: sender !== null };
}

/** The sender of a request that names no sender. */
const NOBODY: Caller = { ...OPERATOR, keyId: 'explain' };

/** Returns the money that the request would use. An unknown model has no funds here; a later step refuses the model. */
function fundsOf(caller: Caller, model: string, { snapshot }: Runtime, { gateway }: ExplanationDesk) {
  const { model: meant } = meaningOf(model, snapshot);
  const isKnown =
    snapshot.selectors.has(meant) || snapshot.modelIndex.has(meant) || snapshot.wildcards?.find(meant) != null;
  return isKnown ? gateway.ledger.availableFunds(caller, meant, gateway.now()) : null;
}

/**
 * Returns the caller for whom a request is explained; null without a sender. A caller who may see no keys cannot name a key as the sender.
 * A person who sees only their own keys can name themselves or their own keys as the sender.
 */
function callerIn(
  { caller: by }: Principal,
  reach: Reach,
  query: ExplanationQuery,
  desk: ExplanationDesk,
): Caller | null {
  const named = [query.key, query.user, query.team].filter((one) => one !== undefined);
  if (named.length > 1) {
    refuse('key', 'Send only one of `key`, `user` and `team`.');
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

/** Builds the policy of a request, or reuses it if the last request had the same policy. @throws SignalboxError */
async function builtFor(by: Principal, named: NamedPolicy, desk: ExplanationDesk): Promise<Runtime> {
  const source = await sourceOf(
    named,
    desk,
    judgeOfSent(desk, () => false),
  );
  // The available plugins and variables depend on the active policy, so the cache key contains its revision.
  const name = `${desk.active().runtime.snapshot.revision} ${source.kind} ${source.bundle.hash}`;
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
 * Returns the current measurements for a policy that is not active: for endpoints that it shares with the active policy, found by name.
 * Other endpoints use the figures of their policy.
 * @returns null if the policies share no endpoint
 */
function readingsAlike({ snapshot, accountOf }: Runtime, active: Runtime): Readings | null {
  const present = active.readings();
  const slots = new Map(
    measuredModels(active.snapshot).flatMap(({ id, firstSlot, endpoints }) =>
      endpoints.map((endpoint, at) => [nameOf(id, endpoint, active.accountOf), firstSlot + at] as const),
    ),
  );
  const readings = priorReadings(snapshot);
  let shared = 0;
  for (const { id, firstSlot, endpoints } of measuredModels(snapshot)) {
    for (const [at, endpoint] of endpoints.entries()) {
      const from = slots.get(nameOf(id, endpoint, accountOf));
      if (from === undefined) continue;
      shared++;
      for (const figure of ['ttftMs', 'warmTtftMs', 'tokensPerSecond', 'health', 'retryAt'] as const) {
        readings[figure][firstSlot + at] = present[figure][from] ?? 0;
      }
    }
  }
  const allHealthy = readings.health.every((health) => health === 0);
  return shared === 0 ? null : { ...readings, outputTokens: active.outputs.lengthsFor(snapshot.tasks), allHealthy };
}

/** A key of a pool is found by its label, because this server reads no secrets for a policy that is not active. */
const nameOf = (model: string, endpoint: Endpoint, accountOf: AccountOf): string =>
  JSON.stringify([model, endpoint.provider, endpoint.upstream, accountOf(endpoint).label ?? null]);
