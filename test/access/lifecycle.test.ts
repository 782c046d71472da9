import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { DenialReason } from '../../src/access/key-entry.ts';
import type { IssuedKey, Keys } from '../../src/access/keys.ts';
import type { Caller } from '../../src/core/people/caller.ts';
import { tempFolder } from '../store/support.ts';
import { type Clock, MORNING, type OpenedKeys, open, reasonOf } from './support.ts';

/** Two processes use one database. A small model knows the right answer for every secret that was ever created. */
const folder = tempFolder();
const clock: Clock = { now: MORNING };
let processes: readonly [OpenedKeys, OpenedKeys];

beforeAll(async () => {
  processes = [await open(folder.file, clock), await open(folder.file, clock)];
});
afterAll(async () => {
  for (const { close } of processes) await close();
  folder[Symbol.dispose]();
});

type Stop = 'suspend' | 'resume' | 'end';

interface Step {
  readonly what: 'create' | 'for wallet' | 'rotate' | 'revoke' | 'revoke others' | Stop | 'tick' | 'refresh';
  readonly by: 0 | 1;
  readonly at: number;
  /** The lifetime of a new or changed key, the length of an overlap, or the advance of the clock, ms. */
  readonly ms: number;
}

// Use few keys and short times, so that steps affect the same key at the moment when it ends. A wallet may have 20 keys.
const steps = fc.array(
  fc.record({
    what: fc.constantFrom(
      ...(['create', 'for wallet', 'rotate', 'rotate', 'rotate', 'revoke', 'revoke others'] as const),
      ...(['suspend', 'resume', 'resume', 'end'] as const),
      ...(['tick', 'tick', 'tick', 'refresh'] as const),
    ),
    by: fc.constantFrom(0, 1),
    at: fc.nat(2),
    ms: fc.constantFrom(0, 1, 5, 5, 10, 20),
  }) satisfies fc.Arbitrary<Step>,
  { minLength: 4, maxLength: 20 },
);

interface ModelKey {
  readonly id: string;
  readonly present: string;
  readonly previous: string | null;
  readonly previousUntil: number;
  readonly expiresAt: number;
  readonly isRevoked: boolean;
  readonly isSuspended: boolean;
  readonly isOfWallet: boolean;
}

function expected(known: ModelKey | undefined, key: string, now: number): DenialReason | null {
  if (!known || (key !== known.present && key !== known.previous)) return 'unknown';
  if (known.isRevoked) return 'revoked';
  if (now >= known.expiresAt) return 'expired';
  if (key === known.previous && now >= known.previousUntil) return 'rotated';
  return known.isSuspended ? 'suspended' : null;
}

const mayRotate = (known: ModelKey) => !known.isRevoked && clock.now < known.expiresAt;
const isValid = (known: ModelKey) => mayRotate(known) && !known.isSuspended;

/** The model: the keys on the disk, the keys that each process has read, and every secret with the ID of its key. */
class World {
  readonly disk = new Map<string, ModelKey>();
  readonly seen: [Map<string, ModelKey>, Map<string, ModelKey>] = [new Map(), new Map()];
  readonly secrets: { readonly key: string; readonly id: string }[] = [];
  readonly ids: string[] = [];
  /** A new wallet, so that keys of other runs do not count. */
  readonly wallet = `0x${crypto.randomUUID().replaceAll('-', '').padEnd(40, '0')}`;

  look(by: 0 | 1): void {
    this.seen[by] = new Map(this.disk);
  }

  put(known: ModelKey): void {
    this.disk.set(known.id, known);
  }

  made({ key, info }: IssuedKey): void {
    this.secrets.push({ key, id: info.id });
  }

  create({ key, info }: IssuedKey): void {
    const { id, holder, expiresAt } = info;
    const ends = expiresAt ?? Number.POSITIVE_INFINITY;
    const rest = { expiresAt: ends, isRevoked: false, isSuspended: false, isOfWallet: holder !== null };
    this.put({ id, present: key, previous: null, previousUntil: 0, ...rest });
    this.ids.push(id);
    this.made({ key, info });
  }

  ofHolder(): readonly ModelKey[] {
    return [...this.disk.values()].filter((known) => known.isOfWallet && isValid(known));
  }
}

async function take(step: Step, world: World, all: readonly [Keys, Keys]): Promise<void> {
  const { what, by, at, ms } = step;
  const keys = all[by];
  const known = world.disk.get(world.ids[at % Math.max(1, world.ids.length)] ?? '');
  if (what === 'tick') {
    clock.now += ms;
    return;
  }
  if (what === 'refresh') await keys.refresh();
  else if (what === 'create') {
    world.create(await keys.create({ name: 'a', scopes: ['chat'], expiresAt: ms === 0 ? null : clock.now + ms }));
  } else if (what === 'for wallet') {
    world.create(await keys.createForHolder(world.wallet, 'an agent'));
  } else if (!known) return;
  else if (what === 'revoke others') {
    const others = world.ofHolder().filter(({ id }) => id !== known.id);
    expect(await keys.revokeOfHolder(world.wallet, known.id)).toBe(others.length);
    const unrevoked = [...world.disk.values()].filter((other) => other.isOfWallet && other.id !== known.id);
    for (const other of unrevoked) world.put({ ...other, isRevoked: true });
  } else if (what === 'rotate') {
    const made = await keys.rotate(known.id, ms);
    expect(made !== null).toBe(mayRotate(known));
    if (made) {
      world.put({ ...known, present: made.key, previous: known.present, previousUntil: clock.now + ms });
      world.made(made);
    }
  } else if (what === 'suspend' || what === 'resume') {
    expect((await keys[what](known.id)) !== null).toBe(!known.isRevoked);
    world.put({ ...known, isSuspended: what === 'suspend' });
  } else if (what === 'end') {
    // Keys of wallets have no terms, and a key cannot end in the past.
    if (known.isOfWallet || ms === 0) return;
    const expiresAt = clock.now + ms;
    expect((await keys.change(known.id, (info) => ({ ...info, expiresAt }))) !== null).toBe(!known.isRevoked);
    world.put({ ...known, expiresAt });
  } else {
    expect(await keys.revoke(known.id)).toBe(!known.isRevoked);
    world.put({ ...known, isRevoked: true });
  }
  world.look(by);
}

type Mutant = (keys: Keys) => Keys;

const lifecycle = (mutant: Mutant = (keys) => keys) =>
  fc.asyncProperty(steps, async (run) => {
    const all = [mutant(processes[0].keys), mutant(processes[1].keys)] as const;
    for (const keys of all) await keys.refresh();
    const world = new World();
    for (const step of run) {
      await take(step, world, all);
      for (const [by, keys] of all.entries()) {
        for (const { key, id } of world.secrets) {
          expect(reasonOf(keys, key)).toBe(expected(world.seen[by === 0 ? 0 : 1].get(id), key, clock.now));
        }
        // All keys of a wallet are one caller.
        const callers = world.secrets.map(({ key }) => keys.authenticate(`Bearer ${key}`).caller);
        expect(new Set(callers.filter((caller) => caller?.keyId === world.wallet)).size).toBeLessThanOrEqual(1);
      }
    }
  });

test('a process accepts a secret from when it has read the key’s creation until the key’s rotation, expiry, suspension or revocation', async () => {
  await fc.assert(lifecycle(), { numRuns: 60 });
});

const SOMEBODY: Caller = { keyId: '', scopes: new Set(), labels: {}, models: null, limits: null, budgets: [] };
/** Returns keys that accept callers in spite of one denial reason. */
const lenient =
  (isLetIn: (reason: DenialReason | null, header: string | null) => boolean): Mutant =>
  (keys) =>
    wrap(keys, {
      authenticate: (header) => {
        const result = keys.authenticate(header);
        return result.caller === null && isLetIn(result.reason, header)
          ? { caller: SOMEBODY, reason: null, ageMs: 0 }
          : result;
      },
    });

/** Returns the same keys with some methods replaced. The remaining methods are bound, because they use private fields. */
const wrap = (keys: Keys, over: Partial<Keys>): Keys => ({
  authenticate: (header) => keys.authenticate(header),
  actAs: (id) => keys.actAs(id),
  authenticateBy: (id, hash) => keys.authenticateBy(id, hash),
  find: (text) => keys.find(text),
  lives: (id, hash) => keys.lives(id, hash),
  create: (grant, by, more) => keys.create(grant, by, more),
  import: (all, by) => keys.import(all, by),
  idsOf: (of) => keys.idsOf(of),
  readChanges: () => keys.readChanges(),
  teamsWithKeys: () => keys.teamsWithKeys(),
  idsBelow: (id, limit) => keys.idsBelow(id, limit),
  named: (ids) => keys.named(ids),
  lineOf: (id) => keys.lineOf(id),
  isEmpty: () => keys.isEmpty(),
  createForHolder: (wallet, name, isAlone) => keys.createForHolder(wallet, name, isAlone),
  ofHolder: (wallet) => keys.ofHolder(wallet),
  revokeOfHolder: (wallet, exceptId) => keys.revokeOfHolder(wallet, exceptId),
  install: (key) => keys.install(key),
  known: (id) => keys.known(id),
  callerOf: (id) => keys.callerOf(id),
  labels: () => keys.labels(),
  above: (id) => keys.above(id),
  below: (id) => keys.below(id),
  createBelow: (credentials, grant, by) => keys.createBelow(credentials, grant, by),
  idsWhere: (matches) => keys.idsWhere(matches),
  expiringAfter: (time) => keys.expiringAfter(time),
  rotate: (id, overlapMs, by) => keys.rotate(id, overlapMs, by),
  change: (id, alter, by, tags) => keys.change(id, alter, by, tags),
  suspend: (id, by, tags) => keys.suspend(id, by, tags),
  resume: (id, by, tags) => keys.resume(id, by, tags),
  revoke: (id, by) => keys.revoke(id, by),
  grant: (id, write, details, by) => keys.grant(id, write, details, by),
  get: (id) => keys.get(id),
  read: (query) => keys.read(query),
  budgets: () => keys.budgets(),
  trail: (query) => keys.trail(query),
  refresh: () => keys.refresh(),
  putInForce: () => keys.putInForce(),
  close: () => keys.close(),
  ...over,
});

const mutants: Readonly<Record<string, Mutant>> = {
  'an expiry that is ignored': lenient((reason) => reason === 'expired'),
  'an overlap that never ends': lenient((reason) => reason === 'rotated'),
  'a revocation that is ignored': lenient((reason) => reason === 'revoked'),
  'a second rotation that keeps the oldest secret': (keys) => {
    const once = new Set<string>();
    return lenient((reason, header) => reason === 'unknown' && once.has(header ?? ''))(
      wrap(keys, {
        authenticate: (header) => {
          const result = keys.authenticate(header);
          if (result.caller) once.add(header ?? '');
          return result;
        },
      }),
    );
  },
  'an overlap that is a millisecond too long': (keys) =>
    wrap(keys, { rotate: (id, overlapMs, by) => keys.rotate(id, overlapMs + 1, by) }),
  'an overlap that is forgotten': (keys) => wrap(keys, { rotate: (id, _, by) => keys.rotate(id, 0, by) }),
  'a refresh that loads nothing': (keys) => wrap(keys, { refresh: async () => {} }),
  'a revocation of the others that spares no key': (keys) =>
    wrap(keys, {
      revokeOfHolder: async (wallet, exceptId) => {
        const others = (await keys.ofHolder(wallet)).filter(({ id }) => id !== exceptId);
        await keys.revokeOfHolder(wallet, null);
        return others.length;
      },
    }),
  'a wallet whose keys are different callers': (keys) =>
    wrap(keys, {
      authenticate: (header) => {
        const result = keys.authenticate(header);
        return result.caller === null ? result : { ...result, caller: { ...result.caller } };
      },
    }),
  'a revocation that does nothing': (keys) => wrap(keys, { revoke: async () => true }),
  'a suspension that is ignored': lenient((reason) => reason === 'suspended'),
  'a resumption that does nothing': (keys) => wrap(keys, { resume: (id) => keys.get(id) }),
  'an expiry that is not changed': (keys) => wrap(keys, { change: (id) => keys.get(id) }),
};

test('the law of key lifecycles accepts keys that are only wrapped', async () => {
  await fc.assert(
    lifecycle((keys) => wrap(keys, {})),
    { numRuns: 10 },
  );
});

for (const [name, mutant] of Object.entries(mutants)) {
  test(`the law of key lifecycles detects ${name}`, async () => {
    const { failed } = await fc.check(lifecycle(mutant), { numRuns: 400, endOnFailure: true });
    expect(failed).toBe(true);
  });
}
