import { Alerts } from '../admin/alerts/alerts.ts';
import { AnswerCounts } from '../admin/alerts/answer-counts.ts';
import { BusiestTokenCounts, CachedTokenCounts } from '../admin/alerts/cached-tokens.ts';
import { type ProviderWatches, watchKeys, watchProviders } from '../admin/alerts/provider-watches.ts';
import { type CountedModel, StatedCounts } from '../admin/alerts/stated-counts.ts';
import { alertEvent } from '../admin/use-cases/events.ts';
import type { FundStanding } from '../core/accounting/fund.ts';
import type { AttemptRecord } from '../core/decision/attempt.ts';
import { lazy, perLatest } from '../core/lazy.ts';
import { figureOf, type Usage } from '../core/money/usage.ts';
import { usdWriter } from '../core/money/usd.ts';
import type { AlertPolicy } from '../core/policy/alerts.ts';
import type { BudgetWindowReading } from '../core/tables/alerts/budgets.ts';
import type { CachedShare, SubjectShare } from '../core/tables/alerts/cached-share.ts';
import { ALERT_EVENTS, type AlertReadings } from '../core/tables/alerts/index.ts';
import type { ExpiringKey } from '../core/tables/alerts/key-expiry.ts';
import type { PolicyRefusal } from '../core/tables/alerts/policy-refused.ts';
import type { StatedReading } from '../core/tables/alerts/stated-cost.ts';
import type { GuardHealth } from '../gateway/guards/guard-health.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import type { RequestReporter } from '../gateway/request/observe/observer.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import type { Family } from '../host/telemetry/families.ts';
import { forecastOf } from '../ledger/forecast.ts';
import { titleText } from '../ledger/fund-words.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { firstError } from '../policy/report/diagnostics.ts';
import type { PolicyStatus } from '../policy/runtime/status.ts';
import type { Health } from '../providers/health/health.ts';
import type { AlertMessage } from '../store/alerts.ts';
import type { Leadership } from '../store/leaders.ts';
import type { InstanceReporter } from './instance-report.ts';
import type { ServerResources } from './resources.ts';

interface WatchedParts {
  readonly gateway: Gateway;
  readonly policy: { status(): PolicyStatus };
  readonly health: Pick<Health, 'samples'>;
  readonly guardHealth: GuardHealth;
  readonly reporter: Pick<InstanceReporter, 'split'>;
  /** Names the instance that checks budgets and keys for all instances. */
  readonly leadership: Pick<Leadership, 'of'>;
}

/** The alerts of a server. The alerts check their rules once `sender.begin` is called. */
interface ServerAlerts {
  readonly sender: Alerts;
  readonly families: readonly Family[];
  /** Counts a request that may have done work for a model, once it has ended. */
  readonly count: RequestReporter;
}

/** Opens the alerts of a server, with the ledger, keys, providers and policy of this server as their sources. */
export function openAlerts(
  { store, keys, people, log, host, feed }: ServerResources,
  parts: WatchedParts,
): ServerAlerts {
  const { gateway, policy, health, guardHealth, reporter, leadership } = parts;
  const lead = leadership.of('alerts');
  const { now } = store.instance;
  const { env, timers } = host;
  const tokens = new CachedTokenCounts();
  const tokensOf = { key: new BusiestTokenCounts<null>(), endpoint: new BusiestTokenCounts<AnsweringEndpoint>() };
  const answers = new AnswerCounts();
  const stated = new StatedCounts();
  const needsOf = perLatest(countsFor);
  let watches: ProviderWatches = new Map();
  const readings = (): AlertReadings => {
    const time = now();
    const samples = [...health.samples()];
    watches = watchProviders(watches, samples, time);
    const { guards } = gateway.lease().snapshot;
    return {
      // All instances share the budgets and keys, so only one instance checks budgets and keys. Each instance has its own providers,
      // policy and refused requests.
      budgets: lazy(() => budgetsAt(time).filter(({ refused }) => lead.isHeld || refused !== null)),
      keys: lazy(() => (lead.isHeld ? keys.expiringAfter(time).flatMap(expiringKey) : [])),
      providers: [...watches.values()],
      providerKeys: watchKeys(samples),
      guards: guards.map(({ name }) => ({ name, failing: guardHealth.of(name) })),
      answersWithin: (windowMs) => answers.within(windowMs, time),
      statedWithin: (windowMs) =>
        stated.within(windowMs, time).map((one) => statedReading(one, gateway.ledger.usdPerCredit)),
      refusal: refusalOf(policy.status()),
      split: reporter.split,
      tokensWithin: (windowMs) => tokens.within(windowMs, time),
      sharesWithin: (each, windowMs) =>
        each === 'key'
          ? tokensOf.key.within(windowMs, time).map((one) => keyShare(one, keys.known(one.id)?.name ?? null))
          : tokensOf.endpoint.within(windowMs, time).map(endpointShare),
    };
  };
  const budgetsAt = (time: number) =>
    gateway.ledger.drawnWindows().map((fund) => budgetReading(fund, called(fund), time, gateway.ledger));
  const called = ({ title: { subject } }: FundStanding) =>
    people.team(subject)?.name ?? (people.user(subject)?.name || keys.known(subject)?.name || null);
  const terms = () => gateway.lease().snapshot.alerts;
  const onAlert = (message: AlertMessage) => feed.tell(() => alertEvent(message));
  const sender = new Alerts({ store, policy: terms, readings, env, now, timers, log, onAlert });
  const countTokens = (usage: Usage, { caller, exchange: { result } }: RequestContext) => {
    const time = now();
    const { inputTokens } = usage;
    const cached = figureOf(usage, 'cache_read');
    tokens.add(inputTokens, cached, time);
    if (caller) tokensOf.key.add(caller.keyId, () => null, inputTokens, cached, time);
    const attempt = result?.outcome.attempts.at(-1);
    if (attempt) tokensOf.endpoint.add(endpointId(attempt), () => endpointOf(attempt), inputTokens, cached, time);
  };
  const count: RequestReporter = (request) => {
    if (request.work.guards) guardHealth.count(request, now());
    const needs = needsOf(terms());
    if (needs.has('answers')) countAnswer(answers, request, now());
    const outcome = request.exchange.result?.outcome;
    if (needs.has('stated') && outcome) stated.add(outcome, now());
    if (needs.has('tokens') && outcome?.usage) countTokens(outcome.usage, request);
  };
  return { sender, families: sender.counts.families, count };
}

/** The counts that the rules need. They begin with the policy that has such a rule. */
const countsFor = ({ rules }: AlertPolicy) => new Set(rules.map(({ on }) => ALERT_EVENTS[on].counts));

/** Counts the answer to a request for a model. */
function countAnswer(answers: AnswerCounts, { operation, answer, exchange: { result } }: RequestContext, now: number) {
  if (operation === null || (result === null && answer.code === null)) return;
  const error = result ? result.outcome.error : answer.code;
  const { model = null, provider = null } = result?.outcome.attempts.at(-1) ?? {};
  answers.add({ error, model, provider, firstPartMs: result?.outcome.firstPartMs ?? null }, now);
}

const statedReading = (one: CountedModel, usdPerCredit: string): StatedReading => {
  const usd = usdWriter(usdPerCredit);
  return { ...one, statedUsd: usd(one.stated) ?? '0', matchedUsd: usd(one.matched) ?? '0' };
};

/** The endpoint that answered a request; `key` is the label of its key in a pool. */
type AnsweringEndpoint = Pick<AttemptRecord, 'model' | 'provider' | 'upstream' | 'key'>;

const keyShare = ({ id, ...share }: CachedShare & { readonly id: string }, name: string | null): SubjectShare => ({
  ...share,
  id,
  title: name === null ? `key ${id}` : `key ${name} (${id})`,
  details: { key_id: id, name },
});

const endpointOf = ({ model, provider, upstream, key }: AnsweringEndpoint): AnsweringEndpoint => ({
  model,
  provider,
  upstream,
  ...(key !== undefined && { key }),
});

const endpointId = ({ model, provider, upstream, key }: AnsweringEndpoint): string =>
  JSON.stringify([model, provider, upstream, key]);

function endpointShare({
  id,
  about: { model, provider, upstream, key },
  ...share
}: CachedShare & { readonly id: string; readonly about: AnsweringEndpoint }): SubjectShare {
  const account = key === undefined ? '' : ` with the key ${key}`;
  return {
    ...share,
    id,
    title: `${model} at ${provider}${account}`,
    details: { model, provider, upstream, account: key ?? null },
  };
}

function budgetReading(
  fund: FundStanding,
  called: string | null,
  now: number,
  ledger: Pick<Ledger, 'recentSpend' | 'refusalOf' | 'usdPerCredit'>,
): BudgetWindowReading {
  const { title, limit, spent } = fund;
  const { name, subject, starts, ends } = title;
  const forecast = forecastOf(spent, title, now, ledger.recentSpend(title)).expected;
  const refused = ledger.refusalOf(fund)?.needed ?? null;
  const figures = { limit, spent, starts, ends, forecast, refused, usdPerCredit: ledger.usdPerCredit };
  return { name, subject, called, title: titleText(title, called), ...figures };
}

const expiringKey = ({
  id,
  name,
  createdAt,
  expiresAt,
}: Omit<ExpiringKey, 'expiresAt'> & { expiresAt: number | null }) =>
  expiresAt === null ? [] : [{ id, name, createdAt, expiresAt }];

function refusalOf({ last }: PolicyStatus): PolicyRefusal | null {
  if (last.result !== 'refused') return null;
  return { message: last.message, first: firstError(last.diagnostics) ?? null, time: last.time };
}
