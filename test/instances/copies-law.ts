import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Keys, openKeys } from '../../src/access/keys.ts';
import { type Blocklist, loadBlocklist } from '../../src/payments/blocklist.ts';
import { Declarations } from '../../src/providers/health/declarations.ts';
import { keepDeclarations } from '../../src/server/declarations.ts';
import { ServerLife } from '../../src/server/life.ts';
import type { BrokenDeclarationTable } from '../../src/store/endpoints.ts';
import type { KeyTable } from '../../src/store/keys.ts';
import { type News, NewsDesk, type NewsNumbers, type NewsSubject } from '../../src/store/news.ts';
import type { Repositories } from '../../src/store/repositories.ts';
import type { SqlTables } from '../../src/store/sql/statement.ts';
import type { Store } from '../../src/store/store.ts';
import type { tries } from '../deep/effort.ts';
import { broken } from '../store/suites/endpoints.ts';

/**
 * Two instances share one database. Each instance has its own copies of keys, blocked wallets and broken declarations. Notifications may
 * come late, twice, in another order or never. After any changes by either instance, a copy must equal the store from its next poll on.
 */
const LOG = { info: () => {}, warn: () => {}, error: () => {} };
const NO_POLICY = { models: [], providers: new Map() } as unknown as Parameters<typeof keepDeclarations>[1];
const NUMBERS = { sql: 'SELECT * FROM news' };

/** A handle of a database. */
type Handle = Pick<Store, 'commit' | 'append' | 'flush' | 'close'> &
  Pick<Repositories, 'keys' | 'people' | 'trail' | 'blocklist' | 'brokenDeclarations'> &
  Pick<SqlTables, 'query'> & { readonly news: News };
type Open = () => Promise<Handle>;

/** What a mutant breaks. */
interface Flaws {
  readonly keys?: (table: KeyTable) => KeyTable;
  readonly declarations?: (table: BrokenDeclarationTable) => BrokenDeclarationTable;
  readonly desk?: () => NewsDesk;
}

/** One instance. The law delivers the instance's notifications. */
class Instance {
  readonly #desk: NewsDesk;
  readonly #store: Handle;
  readonly #declarations = new Declarations();
  readonly keys: Keys;
  readonly blocklist: Blocklist;
  readonly #ends: (() => unknown)[];

  private constructor(store: Handle, desk: NewsDesk, declarations: Declarations, parts: readonly [Keys, Blocklist]) {
    this.#store = store;
    this.#desk = desk;
    this.#declarations = declarations;
    [this.keys, this.blocklist] = parts;
    this.#ends = [() => this.keys.close(), () => this.blocklist.close(), () => store.close()];
  }

  static async open(open: Open, flaws: Flaws): Promise<Instance> {
    const inner = await open();
    const desk = flaws.desk?.() ?? new NewsDesk();
    const numbers = async (): Promise<NewsNumbers> => (await inner.query<NewsNumbers>(NUMBERS))[0]!;
    const news: News = {
      raise: (subject) => inner.news.raise(subject),
      on: (subject, listener) => desk.on(subject, listener),
      look: async () => desk.tell(await numbers()),
      ageOf: () => 0,
      lookEveryMs: 100,
    };
    const store = Object.assign(inner, {
      news,
      keys: flaws.keys?.(inner.keys) ?? inner.keys,
      brokenDeclarations: flaws.declarations?.(inner.brokenDeclarations) ?? inner.brokenDeclarations,
    });
    const declarations = new Declarations();
    await keepDeclarations(declarations, NO_POLICY, { store, log: LOG, life: new ServerLife() });
    const keys = await openKeys({ store, now: () => 1 });
    return new Instance(store, desk, declarations, [keys, await loadBlocklist(store, () => 1)]);
  }

  look(): Promise<void> {
    return this.#store.news.look();
  }

  /** Delivers the numbers of the news as they were at some time. */
  hear(numbers: NewsNumbers): Promise<void> {
    return this.#desk.tell(numbers);
  }

  async numbers(): Promise<NewsNumbers> {
    return (await this.#store.query<NewsNumbers>(NUMBERS))[0]!;
  }

  async change({ what, name }: Change, world: Made): Promise<void> {
    const key = world[name % Math.max(1, world.length)];
    const wallet = `0x${name}`;
    if (what === 'create') world.push(await this.keys.create({ name: 'a', scopes: ['chat'] }));
    else if (what === 'block') await this.blocklist.add(wallet, '');
    else if (what === 'unblock') await this.blocklist.remove(wallet);
    else if (what === 'break') {
      const { provider, upstream, model, marginTokens, marginMs } = broken({ provider: `p${name}` });
      const billing = { bills: 'stops', reports: 'each', marginTokens, marginMs } as const;
      this.#declarations.record({ provider, upstream, model }, billing, 5, 1);
      await this.#store.flush();
    } else if (what === 'lift') {
      const { brokenDeclarations: table } = this.#store;
      await this.#store.commit([table.delete(broken({ provider: `p${name}` }))]);
    } else if (!key) return;
    else if (what === 'revoke' || what === 'suspend' || what === 'resume') await this.keys[what](key.info.id);
    else if (what === 'narrow')
      await this.keys.change(key.info.id, (info) => ({ ...info, models: NAMES.slice(name).map(String) }));
    else world.push((await this.keys.rotate(key.info.id, 0)) ?? key);
  }

  /** The copies of an instance, as the callers of the instance see them. */
  copies(world: Made): unknown {
    const seen = world.map(({ key }) => this.keys.authenticate(`Bearer ${key}`));
    // A copy forgets a revoked key, so that key is unknown after a restart.
    const admitted = seen.map(({ reason, caller }) => [
      reason === 'revoked' ? 'unknown' : reason,
      caller?.models && [...caller.models],
    ]);
    const found = NAMES.flatMap((name) => this.#declarations.of(broken({ provider: `p${name}` })) ?? []);
    return { admitted, blocked: [...this.blocklist.blocked].sort(), found };
  }

  async close(): Promise<void> {
    for (const end of this.#ends) await end();
  }
}

type Made = Awaited<ReturnType<Keys['create']>>[];
const NAMES = [0, 1, 2];

const CHANGES = [
  ...(['create', 'revoke', 'rotate', 'suspend', 'resume', 'narrow'] as const),
  ...(['block', 'unblock', 'break', 'lift'] as const),
] as const;

interface Change {
  readonly what: (typeof CHANGES)[number];
  readonly name: number;
}
interface Step {
  readonly by: 0 | 1;
  readonly take: Change | { readonly what: 'hear'; readonly from: number } | { readonly what: 'look' };
}

const change = fc.record({
  what: fc.constantFrom(...CHANGES),
  name: fc.constantFrom(...NAMES),
});
const steps = fc.array(
  fc.record({
    by: fc.constantFrom(0, 1),
    take: fc.oneof(
      { weight: 4, arbitrary: change },
      // How many notifications back: a notification may come twice, late, and before an older one.
      { weight: 2, arbitrary: fc.record({ what: fc.constant('hear'), from: fc.nat(3) }) },
      { weight: 1, arbitrary: fc.constant({ what: 'look' }) },
    ),
  }) satisfies fc.Arbitrary<Step>,
  { minLength: 3, maxLength: 16 },
);

/** Creates an empty database. */
export type Lay = () => Promise<Open>;

async function openPair(lay: Lay, flaws: Flaws) {
  const open = await lay();
  return { open, all: [await Instance.open(open, flaws), await Instance.open(open, flaws)] as const };
}

/** All runs share a database, so its keys and wallets accumulate. */
function lawOf({ open, all }: Awaited<ReturnType<typeof openPair>>) {
  return fc.asyncProperty(steps, async (run) => {
    const world: Made = [];
    const told = [await all[0].numbers()];
    const isAsStored = async (one: Instance) => {
      await one.look();
      const fresh = await Instance.open(open, {});
      expect(one.copies(world)).toEqual(fresh.copies(world));
      await fresh.close();
    };
    for (const { by, take } of run) {
      if (take.what === 'look') await isAsStored(all[by]);
      else if (take.what === 'hear') await all[by].hear(told.at(-1 - take.from) ?? told[0]!);
      else await all[by].change(take, world);
      told.push(await all[by].numbers());
    }
    for (const one of all) await isAsStored(one);
  });
}

/** Stops calling a listener after a number of calls. */
class Forgetful extends NewsDesk {
  #calls = 0;

  override on: NewsDesk['on'] = (subject, listener) =>
    super.on(subject, () => (this.#calls++ < 4 ? listener() : undefined));
}

const changesOf =
  (change: (found: Awaited<ReturnType<KeyTable['changedAfter']>>) => object) =>
  (table: KeyTable): KeyTable => ({
    ...table,
    changedAfter: async (number) => {
      const found = await table.changedAfter(number);
      return { ...found, ...change(found) };
    },
  });

/** Ignores one subject. */
const deafTo = (deaf: NewsSubject) =>
  class extends NewsDesk {
    override on: NewsDesk['on'] = (subject, listener) =>
      super.on(subject, subject === deaf ? async () => {} : listener);
  };

const MUTANTS: Readonly<Record<string, Flaws>> = {
  'changes of keys are ignored': { desk: () => new (deafTo('keys'))() },
  'changes of blocked wallets are ignored': { desk: () => new (deafTo('wallets'))() },
  'changes of declarations are ignored': { desk: () => new (deafTo('endpoints'))() },
  'reading keys misses the last one': { keys: changesOf(({ rows }) => ({ rows: rows.slice(0, -1) })) },
  'reading keys skips the next change': { keys: changesOf(({ through }) => ({ through: through + 1 })) },
  'a narrowed key is not read again': {
    keys: changesOf(({ rows }) => ({
      rows: rows.map((row) => ({ ...row, key: { ...row.key, info: { ...row.key.info, models: null } } })),
    })),
  },
  'a listener is no longer called': { desk: () => new Forgetful() },
};

export const LAW =
  'after any changes by two instances, each copy equals the store from its next poll on, whatever notifications arrived';

/**
 * Tests the law on copies of a database.
 * @param mutates true to check that the law finds its mutants in this database, too
 */
export function overCopies(place: string, lay: Lay, runs: ReturnType<typeof tries>, mutates: boolean): void {
  test(`in ${place} ${LAW}`, async () => {
    const pair = await openPair(lay, {});
    await fc.assert(lawOf(pair), runs);
    for (const one of pair.all) await one.close();
  });

  for (const [name, flaws] of Object.entries(mutates ? MUTANTS : {})) {
    test(`in ${place} the law of copies fails if ${name}`, async () => {
      const pair = await openPair(lay, flaws);
      const { failed } = await fc.check(lawOf(pair), { numRuns: 300, seed: 44, endOnFailure: true });
      expect(failed).toBe(true);
    });
  }
}
