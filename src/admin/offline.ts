import { idAt } from '../core/id.ts';
import { lazy } from '../core/lazy.ts';
import type { AlertWebhook } from '../core/policy/alerts.ts';
import { UsageError } from '../core/usage-error.ts';
import type { AlertTable } from '../store/alerts.ts';
import type { OpenStore, StoreReader, StoreRoom } from '../store/driver.ts';
import { isStoreLocked, openStore, readStore, requireStore } from '../store/open.ts';
import type { KeyServices } from './keys.ts';
import type { Outcomes } from './learning.ts';
import type { LedgerServices } from './ledger.ts';
import type { PeopleServices } from './teams.ts';
import type { ReportServices, UsageServices } from './usage.ts';
import type { ClusterStatus } from './use-cases/cluster.ts';
import type { Doctor } from './use-cases/doctor/run.ts';
import type { BooksFiles } from './use-cases/ledger/reading.ts';
import { Places, UNBOUNDED } from './use-cases/places.ts';
import type { PolicyWorkspace } from './use-cases/policy/tools.ts';
import type { Principal } from './use-cases/principal.ts';
import type { SubjectSource } from './use-cases/subjects.ts';
import type { FilterNames } from './use-cases/unknown-names.ts';
import type { WalletSource } from './use-cases/wallets.ts';

/** What a command knows about the place on which it works. */
export interface OfflineSource {
  /** The URL of the database. @throws UsageError if the environment names it wrongly */
  readonly database: () => string;
  /** ms since 1970 */
  readonly now: () => number;
  /** Writes a sentence to the standard error. */
  readonly warn: (text: string) => void;
  /** Checks that the database is the ledger of the data folder, and returns it with its spool files. */
  readonly books: () => Promise<BooksFiles>;
  /** Returns the policy folder and what judges policies. Only commands that need a policy call it. */
  readonly policy: () => Promise<Pick<PolicyWorkspace, 'judge' | 'folder'>>;
  readonly doctor: () => Promise<Doctor>;
}

/** The tables that commands on keys, people and wallets may change. */
const ACCESS_ROOMS: readonly StoreRoom[] = ['access', 'logins', 'payments', 'people', 'subjects'];

/**
 * A database without a server. Each part is opened when it is first needed. At the end of the scope of its `await using` declaration, the
 * opened parts are closed in reverse order.
 */
export class OfflineDatabase implements AsyncDisposable {
  readonly source: OfflineSource;
  readonly #closing = new AsyncDisposableStack();
  #written: OpenStore | null = null;

  constructor(source: OfflineSource) {
    this.source = source;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#closing.disposeAsync();
  }

  /** Resolves with whether a server uses the database. */
  readonly isServed = (): Promise<boolean> => isStoreLocked(this.source.database());

  /** The store that was opened for changes; null if none was. */
  get written(): OpenStore | null {
    return this.#written;
  }

  /** Opens the database for reading. All reads see one moment. @throws UsageError if there is no database */
  async read(rooms: readonly StoreRoom[]): Promise<StoreReader> {
    const database = this.source.database();
    await requireStore(database);
    return this.#closing.use(await readStore(database, rooms));
  }

  /** Opens the database for changes. @throws UsageError if there is no database */
  async write(rooms: readonly StoreRoom[]): Promise<OpenStore> {
    const database = this.source.database();
    await requireStore(database);
    // Opening the ledger checks its version, so that a newer database is refused before the command writes anything.
    (await readStore(database, ['ledger'])).close();
    this.#written = await openStore(database, { mode: 'beside', rooms });
    return this.#closing.adopt(this.#written, (store) => store.close());
  }

  readonly store = lazy(() => this.write(ACCESS_ROOMS));
  readonly keys = lazy(async () => {
    const [{ openKeys }, store] = await Promise.all([import('../access/keys.ts'), this.store()]);
    return this.#closes(await openKeys({ store, now: this.source.now }));
  });
  readonly people = lazy(async () => {
    const [{ openPeople }, store] = await Promise.all([import('../access/people.ts'), this.store()]);
    return this.#closes(await openPeople({ store, now: this.source.now }));
  });
  /** For changes of the figures of traffic. */
  readonly traffic = lazy(() => this.write(['access', 'ledger', 'people', 'records', 'traffic']));
  /** For pushes of policies. */
  readonly pushes = lazy(() => this.write(['access', 'instances', 'policies', 'records']));
  readonly logins = lazy(async () => {
    const [{ openLogins }, store] = await Promise.all([import('../access/logins.ts'), this.store()]);
    return this.#closes(await openLogins({ store, now: this.source.now }));
  });
  readonly blocklist = lazy(async () => {
    const [{ loadBlocklist }, store] = await Promise.all([import('../payments/blocklist.ts'), this.store()]);
    return this.#closes(await loadBlocklist(store, this.source.now));
  });

  #closes<Opened extends { close(): void }>(opened: Opened): Opened {
    return this.#closing.adopt(opened, (one) => one.close());
  }
}

/** The parts of a database that groups of operations need, each with the services that it has. */
const PARTS = {
  store: async (database: OfflineDatabase) => ({ store: await database.store() }),
  keys: async (database: OfflineDatabase) => ({ keys: await database.keys() }),
  people: async (database: OfflineDatabase) => ({ people: await database.people() }),
  async logins(database: OfflineDatabase) {
    const [logins, people, keys] = await Promise.all([database.logins(), database.people(), database.keys()]);
    return { logins: { logins, people, keys } };
  },
  async subjects(database: OfflineDatabase) {
    const source = await blockingSource(database);
    return { subjects: (): SubjectSource => source };
  },
  async wallets(database: OfflineDatabase) {
    const [source, keys, { storedBalances }] = await Promise.all([
      blockingSource(database),
      database.keys(),
      import('./use-cases/stored-balances.ts'),
    ]);
    await requireLedger(source.store);
    const balances = storedBalances(database.source.database());
    return { wallets: (): WalletSource => ({ ...source, ...balances, keys, payments: source.store.payments }) };
  },
  async traffic(database: OfflineDatabase) {
    const store = await database.traffic();
    // A ledger that never had a policy has no charges.
    const usdPerCredit = async () => (await store.journal.usdPerCredit()) ?? '0';
    return { ...(await namesIn(store)), store, usdPerCredit };
  },
  async records(database: OfflineDatabase) {
    const reader = await database.read(['records', 'ledger', 'access', 'people']);
    if (!(await reader.records.isCurrent())) {
      throw new UsageError(
        `${database.source.database()} has no decision records of this version yet. Start the server once to create the tables.`,
      );
    }
    const [names, { openRecordReader }] = await Promise.all([namesIn(reader), import('../gateway/records/records.ts')]);
    return { ...names, records: { ...openRecordReader(reader.records), list: reader.records.log.list } };
  },
  async ledger(database: OfflineDatabase) {
    const { source } = database;
    const files = await source.books();
    const names = await namesIn(await database.read(['access', 'people']));
    const [{ readBooks }, { learnKeys, storedUsage }] = await Promise.all([
      import('./use-cases/ledger/reading.ts'),
      import('./use-cases/usage.ts'),
    ]);
    const report: UsageServices['report'] = (by, query, sight) =>
      readBooks(by, files, source.warn, async ({ journal }) => {
        const found = await storedUsage(by, journal, query);
        await learnKeys(sight, query.by, found.groups);
        return found;
      });
    const overview: LedgerServices['overview'] = (by) =>
      readBooks(by, files, source.warn, async (reader) => {
        const { storedOverview } = await import('./use-cases/ledger/status.ts');
        const { funds, ...sums } = await storedOverview(by, reader, source.now());
        const nameOf = names.namesFor();
        const named = funds.map((use) => {
          const { subject } = use.title;
          return { ...use, subjectName: nameOf('team', subject) ?? nameOf('user', subject) };
        });
        return { ...sums, funds: named };
      });
    return { ...names, report, overview };
  },
  pushes: async (database: OfflineDatabase) => ({
    desk: { store: await database.pushes(), isServed: database.isServed },
  }),
  async policy(database: OfflineDatabase) {
    const { source } = database;
    const alertPolicy = async () => {
      const [{ judge, folder }, { generous, runtimeOf }] = await Promise.all([
        source.policy(),
        import('./use-cases/policy/tools.ts'),
      ]);
      // The variables of providers need not be set.
      return (await runtimeOf(folder, { ...judge, env: generous(judge.env) })).snapshot.alerts;
    };
    return {
      alertPolicy,
      alertPolicyIfValid: () =>
        alertPolicy().catch((cause: unknown) => {
          if (!(cause instanceof UsageError)) throw cause;
          source.warn(`${cause.message} Its alert rules and webhooks are not listed.`);
          return null;
        }),
      alerts: {
        list: async (...page: Parameters<AlertTable['list']>) =>
          (await database.write(['alerts'])).alerts.list(...page),
        async test(webhooks: readonly AlertWebhook[]) {
          const [{ judge }, { testContent, testWebhook }] = await Promise.all([
            source.policy(),
            import('./alerts/alerts.ts'),
          ]);
          const time = source.now();
          // No server assigned an ID to this message, so the current time serves as its ID.
          const message = { id: idAt(time), time, content: testContent() };
          return Promise.all(
            webhooks.map((hook) => testWebhook(message, hook, { env: judge.env.get, now: source.now })),
          );
        },
      },
    };
  },
  doctor: async ({ source }: OfflineDatabase) => ({ doctor: await source.doctor() }),
};

/** The name of a part. */
export type Part = keyof typeof PARTS;

type PartServices<Name extends Part> = Awaited<ReturnType<(typeof PARTS)[Name]>>;

type AtOnce<Union> = (Union extends unknown ? (each: Union) => void : never) extends (each: infer All) => void
  ? All
  : never;

/** The services of an operation without a server. */
export type OfflineServices<Name extends Part> = ReturnType<typeof commonServices> & AtOnce<PartServices<Name>>;

/** Opens parts of a database for the operations of a group. */
export async function offlineServices<Name extends Part>(
  parts: readonly Name[],
  database: OfflineDatabase,
): Promise<OfflineServices<Name>> {
  const services: object = commonServices(database);
  // One after the other, because a part may use what another part has opened.
  for (const part of parts) Object.assign(services, await PARTS[part](database));
  // The type checker does not follow which names the loop has assigned.
  return services as OfflineServices<Name>;
}

/** The names of keys, teams and users in a database, and what an operator sees with them. */
async function namesIn(reader: Pick<StoreReader, 'keys' | 'people'>) {
  const [{ StoredPeople, storedSight }, { ownersIn }] = await Promise.all([
    import('./use-cases/stored-names.ts'),
    import('./use-cases/people.ts'),
  ]);
  const { keys } = reader;
  const people = await StoredPeople.of(reader);
  const sight = storedSight(reader);
  const filterNames: FilterNames = {
    key: {
      has: async (text) => (await keys.find(text)) !== null || (await keys.idsOf({ name: text })).length > 0,
      names: async () => (await keys.all()).map(({ key }) => key.info.name),
    },
    team: {
      has: (text) => people.team(text) !== null || people.teamNamed(text) !== null,
      names: () => people.teams().map(({ name }) => name),
    },
  };
  const ownersOf: ReportServices['ownersOf'] = (by, owners) => ownersIn(people, by, owners);
  return { people, filterNames, ownersOf, namesFor: () => people.nameOf, sightOf: () => sight };
}

/** What changes of blocked callers need. */
async function blockingSource(database: OfflineDatabase) {
  const [store, blocklist] = [await database.store(), await database.blocklist()];
  // The person who runs the command sees its result, so there is no log.
  return { store, blocklist, now: database.source.now, log: { warn() {} } };
}

/** @throws UsageError if no server of this version has used the database yet */
async function requireLedger({ ledger }: Pick<OpenStore, 'ledger'>): Promise<void> {
  if (await ledger.exists()) return;
  throw new UsageError('The database has no ledger of this version yet. Start the server once to create the ledger.');
}

/** The services that open what they need only when they are called. What only a server knows is empty or null. */
function commonServices(database: OfflineDatabase) {
  const { source, isServed } = database;
  const money = () => import('./use-cases/key-funds.ts');
  return {
    usdPerCredit: async (): Promise<string | null> => (await money()).storedUsdPerCredit(source.database()),
    modelWarnings: async (list: readonly string[]) => (await money()).storedModelWarnings(source.database(), list),
    fundsOf: async (...[info, now]: Parameters<KeyServices['fundsOf']>) =>
      (await money()).storedKeyFunds(source.database(), info, now),
    usesOf: async (...[holder, budgets, now]: Parameters<PeopleServices['usesOf']>) =>
      (await import('./use-cases/people-money.ts')).storedBudgetUses(source.database(), holder, budgets, now),
    checkLedger: async () => requireLedger(await database.store()),
    // The command refreshes nothing, because a running server notices a grant in the database.
    refresh: async () => {},
    teamPlaces: () => new Map<never, never>(),
    searches: new Places(UNBOUNDED),
    counts: new Places(UNBOUNDED),
    guards: () => [],
    guardHealth: null,
    cachePolicy: () => null,
    cachedAnswers: null,
    health: { samples: () => [] },
    async outcomes<T>(read: (outcomes: Outcomes) => Promise<T>): Promise<T> {
      const { learning } = await database.read(['learning']);
      return await read(learning.outcomes);
    },
    async cluster(by: Principal): Promise<ClusterStatus> {
      const reader = await database.read(['instances']);
      const status = await (await import('./use-cases/cluster.ts')).clusterStatus(by, reader);
      // Without a server, the last report is from a server that has ended.
      return (await isServed()) ? status : { instances: [], isSplit: false };
    },
  };
}
