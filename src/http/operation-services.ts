import type { ServedServices } from '../admin/groups.ts';
import { servedKeyFunds } from '../admin/use-cases/key-funds.ts';
import { overviewOf, subjectOf, usesOf } from '../admin/use-cases/ledger/status.ts';
import { ownersIn } from '../admin/use-cases/people.ts';
import { type PlaceLimits, Places } from '../admin/use-cases/places.ts';
import type { Principal } from '../admin/use-cases/principal.ts';
import { type HolderNames, namesFor, ownUsage, servedUsage } from '../admin/use-cases/usage.ts';
import { servedBalances } from '../admin/use-cases/wallets.ts';
import { type AppOptions, NO_LEVELS } from './app-options.ts';
import type { RouteServices } from './kit/route-services.ts';

/** How many calls of operations that read much may run at once: for one user or key, and for all. */
const PLACES = {
  /**
   * A search reads keys until its page is full. Operators have no limit for themselves, because several programs may share their key.
   */
  searches: {
    own: 1,
    all: 16,
    ownTaken: 'Your previous search for keys is still running. Send the next search when it has finished.',
    allTaken: 'The server is running 16 searches for keys, which is its limit. Try again later.',
  },
  verifications: {
    own: 1,
    all: 1,
    ownTaken: 'Your previous verification is still running. Send the next one when it has finished.',
    allTaken: 'Another verification of the audit trail is running. Try again when it has finished.',
  },
  /** An export reads the whole journal, and holds one page of it in memory. */
  exports: {
    own: 2,
    all: 8,
    ownTaken: 'You are running 2 exports, which is the limit for one user or key. Read one export to its end first.',
    allTaken: 'The server is running 8 exports of charges, which is its limit. Try again later.',
  },
  /** A count reads up to 100,000 records. */
  counts: {
    own: 4,
    all: 8,
    ownTaken:
      'You are running 4 counts of requests, which is the limit for one user or key. Wait until one has finished.',
    allTaken: 'The server is running 8 counts of requests, which is its limit. Try again later.',
  },
} as const satisfies Readonly<Record<string, PlaceLimits>>;

const places = () => ({
  searches: new Places(PLACES.searches),
  verifications: new Places(PLACES.verifications),
  exports: new Places(PLACES.exports),
  counts: new Places(PLACES.counts),
});

/** The services of all operations in a server. The gateway is read at each call, because routes are also documented without a gateway. */
export function operationServices(services: RouteServices, options: AppOptions): ServedServices & RouteServices {
  const { gateway, keys, store, policy, desk, status, audits, doctor, alerts, logins, levels = NO_LEVELS } = options;
  const { ledger, records, payments, log, now, cache } = gateway;
  const snapshot = () => gateway.lease().snapshot;
  const people = options.people?.people;
  const names = ({ caller }: Principal) => namesFor(caller, people);
  const blocking = () => ({ store, log, now, blocklist: gateway.payments.blocklist });
  return {
    ...services,
    ...status,
    ...places(),
    ...{ gateway, keys, store, people, logins, policy, desk, alerts, audits, doctor, records, payments, log, now },
    sightOf: services.sightOf,
    namesFor: names,
    ownersOf: (by, owners) => ownersIn(people, by, owners),
    usdPerCredit: () => snapshot().usdPerCredit,
    levelsOf: (caller) => levels.of(caller),
    trailHeads: options.trailHeads ?? (() => []),
    alertPolicy: () => snapshot().alerts,
    alertPolicyIfValid: () => snapshot().alerts,
    guards: () => snapshot().guards,
    cachePolicy: () => snapshot().cache,
    cachedAnswers: cache,
    teamPlaces: () => snapshot().teamPlaces,
    subjects: blocking,
    wallets: () => ({ ...servedBalances(ledger), ...blocking(), keys: gateway.keys, payments: gateway.payments }),
    filterNames: {
      key: {
        has: async (text) => (await keys.named([text])).size > 0 || (await keys.idsOf({ name: text })).length > 0,
        names: () => keys.idsWhere(() => true).map((id) => keys.known(id)?.name ?? ''),
      },
      team: {
        has: (text) => people.team(text) !== null || people.teamNamed(text) !== null,
        names: () => people.teams().map(({ name }) => name),
      },
    },
    checkLedger: async () => {},
    refresh: () => ledger.refresh(),
    fundsOf: (info, at) => servedKeyFunds(ledger, info, at, snapshot().usdPerCredit),
    usesOf: (holder, budgets) => ledger.budgetUses(holder, budgets),
    overview: (by) => overviewOf(by, ledger, snapshot(), services.sightOf(by), names(by)),
    report: (by, query, sight) => servedUsage(by, ledger, sight, query),
    ownReport: (by, query) => ownUsage(by, ledger, query),
    ownFunds({ caller }) {
      const { selectors, models } = snapshot();
      const funds = usesOf(ledger, ledger.fundsOf(caller, [...selectors.keys(), ...models.map(({ id }) => id)]));
      // A caller sees the names of itself, its team and its user.
      const nameOf = (id: string) => (id === caller.keyId ? (keys.known(id)?.name ?? null) : null);
      const own: HolderNames = (kind, id) => (id === caller[kind] ? people[kind](id)?.name || null : null);
      return funds.map((use) => ({ ...use, ...subjectOf(use.title, { nameOf }, own) }));
    },
  };
}
