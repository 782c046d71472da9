import { Lines } from '../access/levels.ts';
import { statedLimits } from '../access/limits/newest.ts';
import type { KeyBudgets } from '../core/people/caller.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { holderBudgets, holdersOf } from '../ledger/holder-budgets.ts';
import { openLedger } from '../ledger/ledger.ts';
import type { Lead } from '../store/leaders.ts';
import { logAlert, logRecovered } from './events.ts';
import { type TermsOf, untilEnforced } from './policy-reload.ts';
import type { ServerResources } from './resources.ts';
import { watchClock } from './upkeep.ts';

/**
 * Opens the ledger with the terms of the first policy. The organization, teams, users and keys have budgets of their own in addition to the
 * budgets of the policy.
 */
export async function openServerLedger(first: PolicySnapshot, resources: ServerResources, lead: Lead) {
  const { store, keys, people, log, host, life } = resources;
  const { now, idsAbove } = store.instance;
  const { timers } = host;
  const lines = new Lines(keys);
  const terms: TermsOf = (snapshot, at = now()) => {
    const { budgets, ledger, usdPerCredit, organization } = snapshot;
    const ofKeys = keys.budgets(at);
    const own = holderBudgets([...people.budgets(organization), ...holdersOf(ofKeys)], lines);
    const rateLimits = statedLimits(snapshot);
    return { budgets: [...budgets, ...own], ledger, usdPerCredit, rateLimits, until: firstEnd(ofKeys), at };
  };
  const books = await store.openBooks(now);
  const ledger = await openLedger({
    books,
    terms: terms(first),
    now,
    idsAbove,
    instance: store.instance,
    news: store.news,
    timers,
    lines,
    onAlarm: (message, details) => log.error(message, details),
    onAlert: (fund, fraction) => logAlert(log, fund, fraction, books.state().usdPerCredit),
    ...(store.leaders && { leads: () => lead.isHeld }),
  });
  life.closes.defer(() =>
    // If the disk fails during the checkpoint, the next start sums up the entries since the last checkpoint.
    ledger
      .close()
      .catch((error: unknown) => log.warn('the ledger checkpoint could not be written', { error: String(error) })),
  );
  logRecovered(log, ledger.recovered);
  watchClock(log, idsAbove, { now, timers });
  /** Makes the ledger use the current budgets of a policy, and of keys and people. */
  const recount = async (snapshot: PolicySnapshot, at?: number) => {
    const use = await ledger.prepare(terms(snapshot, at));
    await untilEnforced(timers, use());
  };
  return { ledger, terms, recount };
}

/** Returns when the first budget, or the first opening of a budget, ends, ms since 1970; Infinity for never. */
const firstEnd = (ofKeys: readonly KeyBudgets[]): number =>
  ofKeys
    .flatMap(({ budgets }) => budgets)
    .reduce(
      (first, { until = first, opening }) => Math.min(first, until, opening?.until ?? first),
      Number.POSITIVE_INFINITY,
    );
