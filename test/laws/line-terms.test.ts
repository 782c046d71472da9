import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { IssuedKey, Keys } from '../../src/access/keys.ts';
import type { KeyGrant } from '../../src/access/terms.ts';
import { type Caller, permissionsOf, type Scope } from '../../src/core/people/caller.ts';
import { sql, write } from '../../src/store/sql/statement.ts';
import { SERVER } from '../../src/store/trail.ts';
import { type Clock, MORNING, type OpenedKeys, open } from '../access/support.ts';
import { tries } from '../deep/effort.ts';
import { tempFolder } from '../store/support.ts';

const folder = tempFolder();
const clock: Clock = { now: MORNING };
let opened: OpenedKeys;
beforeAll(async () => {
  opened = await open(folder.file, clock);
  // With another key that has the scope `admin`, each key of the law can be revoked.
  await opened.keys.create({ name: 'admin', scopes: ['admin'] });
});
afterAll(async () => {
  await opened.close();
  folder[Symbol.dispose]();
});

type Terms = Required<Pick<KeyGrant, 'scopes' | 'models' | 'labels'>>;

interface Step {
  readonly what: 'begin' | 'below' | 'change' | 'suspend' | 'resume' | 'revoke' | 'rotate' | 'tick';
  /** The key to change, by index; for a new child key, the parent's secret. */
  readonly at: number;
  readonly ms: number;
  readonly terms: Terms;
}

const terms: fc.Arbitrary<Terms> = fc.record({
  scopes: fc.constantFrom<readonly Scope[]>(
    ['chat'],
    ['embed'],
    ['chat', 'delegate'],
    ['chat', 'route', 'delegate'],
    ['admin', 'delegate'],
  ),
  models: fc.option(fc.subarray(['a', 'b', 'c'], { minLength: 1 })),
  labels: fc.dictionary(fc.constantFrom('team', 'child.a', 'child.b'), fc.constantFrom('x', 'y'), { maxKeys: 3 }),
});
const steps = fc.array(
  fc.record({
    what: fc.constantFrom(
      ...(['below', 'below', 'below', 'below', 'change', 'change', 'rotate', 'tick', 'tick'] as const),
      ...(['begin', 'suspend', 'resume', 'resume', 'revoke'] as const),
    ),
    at: fc.nat(9),
    ms: fc.constantFrom(1, 5, 10, 20),
    terms,
  }) satisfies fc.Arbitrary<Step>,
  { minLength: 6, maxLength: 30 },
);

/** A key as the law's own model knows it. `made` is the secret of the parent key that created it. */
interface Known {
  readonly id: string;
  readonly terms: Terms;
  readonly made: string | null;
  readonly present: string;
  readonly previous: string | null;
  readonly previousUntil: number;
  readonly expiresAt: number;
  readonly isRevoked: boolean;
  readonly isSuspended: boolean;
}

/** All keys by their IDs, and the ID of each secret. */
class World {
  readonly keys = new Map<string, Known>();
  readonly secrets = new Map<string, string>();

  of(secret: string): Known {
    return this.keys.get(this.secrets.get(secret)!)!;
  }

  /** Whether a secret must work: its key must work, and so must the secret that created the key. */
  works(secret: string): boolean {
    const key = this.of(secret);
    const isOwn = secret === key.present || (secret === key.previous && clock.now < key.previousUntil);
    const isOpen = isOwn && !key.isRevoked && !key.isSuspended && clock.now < key.expiresAt;
    return isOpen && (key.made === null || this.works(key.made));
  }

  depth(secret: string): number {
    const { made } = this.of(secret);
    return made === null ? 0 : 1 + this.depth(made);
  }

  put({ key, info }: IssuedKey, given: Terms, made: string | null): void {
    const fresh = { previous: null, previousUntil: 0, isRevoked: false, isSuspended: false };
    const expiresAt = info.expiresAt ?? Number.POSITIVE_INFINITY;
    this.keys.set(info.id, { id: info.id, terms: given, made, present: key, expiresAt, ...fresh });
    this.secrets.set(key, info.id);
  }

  change(id: string, more: Partial<Known>): void {
    this.keys.set(id, { ...this.keys.get(id)!, ...more });
  }
}

const CHANGE = sql('UPDATE keys SET scopes = ?, models = ?, labels = ?, suspended_at = ? WHERE id = ?');

/** Writes terms as an administrator does, who may give a key any terms. */
async function alter({ id, terms: { scopes, models, labels }, isSuspended }: Known, keys: Keys): Promise<void> {
  const texts = [scopes, models, labels].map((value) => value && JSON.stringify(value));
  await opened.store.commit([write(CHANGE, ...texts, isSuspended ? clock.now : null, id)]);
  await keys.refresh();
}

async function take({ what, at, ms, terms: given }: Step, world: World, keys: Keys): Promise<void> {
  const key = [...world.keys.values()][at % world.keys.size];
  const secret = [...world.secrets.keys()][at % world.secrets.size];
  if (what === 'tick') clock.now += ms;
  else if (!key || !secret || what === 'begin') {
    const end = ms === 20 ? { expiresAt: clock.now + 40 } : {};
    const made = await keys.create({ name: 'first', scopes: given.scopes, ...end });
    world.put(made, given, null);
    await alter(world.keys.get(made.info.id)!, keys);
  } else if (what === 'below') await makeBelow(secret, given, ms, world, keys);
  else if (what === 'revoke') {
    await keys.revoke(key.id);
    world.change(key.id, { isRevoked: true });
  } else if (what === 'rotate') {
    const made = await keys.rotate(key.id, ms);
    if (!made) return;
    world.change(key.id, { present: made.key, previous: key.present, previousUntil: clock.now + ms });
    world.secrets.set(made.key, key.id);
  } else {
    world.change(key.id, what === 'change' ? { terms: given } : { isSuspended: what === 'suspend' });
    await alter(world.keys.get(key.id)!, keys);
  }
}

/** Creates a child key with terms that its parent allows, and then widens them as an administrator could. */
async function makeBelow(secret: string, given: Terms, ms: number, world: World, keys: Keys): Promise<void> {
  const expiresAt = clock.now + 4 * ms;
  const made = await keys
    .createBelow(`Bearer ${secret}`, { name: 'below', scopes: ['chat'], expiresAt }, SERVER)
    .catch(() => null);
  const isPossible = world.works(secret) && world.depth(secret) < 3 && scopesOf(secret, keys)?.has('chat') === true;
  expect(made !== null).toBe(isPossible);
  if (!made) return;
  world.put({ ...made, info: { ...made.info, expiresAt } }, given, secret);
  await alter(world.keys.get(made.info.id)!, keys);
}

const callerOf = (secret: string, keys: Keys): Caller | null => keys.authenticate(`Bearer ${secret}`).caller;
const scopesOf = (secret: string, keys: Keys) => callerOf(secret, keys)?.scopes;

const NEVER_BELOW: readonly Scope[] = ['admin', 'report'];

/** Computes the terms of a child key from its own terms and its parent's terms. */
function narrowed(own: Terms, upper: Pick<Caller, 'scopes' | 'models' | 'labels'>) {
  const mine = permissionsOf(own.scopes);
  return {
    scopes: new Set([...mine].filter((scope) => upper.scopes.has(scope) && !NEVER_BELOW.includes(scope))),
    models: own.models
      ? own.models.filter((model) => upper.models?.has(model) ?? true)
      : upper.models && [...upper.models],
    labels: { ...Object.fromEntries(Object.entries(own.labels).filter(([name]) => name !== 'team')), ...upper.labels },
  };
}

/** Checks for all secrets whether they work, and with which terms. */
function check(world: World, keys: Keys): void {
  for (const secret of world.secrets.keys()) {
    const caller = callerOf(secret, keys);
    expect(caller !== null).toBe(world.works(secret));
    const { made, terms: own } = world.of(secret);
    const upper = made === null ? null : callerOf(made, keys);
    if (!caller || !upper) continue;
    const { scopes, models, labels } = caller;
    expect({ scopes, models: models && [...models], labels }).toEqual(narrowed(own, upper));
    expect(caller.parent?.keyId).toBe(upper.keyId);
    expect(caller.line).toEqual([upper.keyId, ...(upper.line ?? [])]);
  }
}

type Mutant = (keys: Keys) => Keys;

const law = (mutant: Mutant = (keys) => keys) =>
  fc.asyncProperty(steps, async (run) => {
    const keys = mutant(opened.keys);
    const world = new World();
    for (const step of run) {
      await take(step, world, keys);
      check(world, keys);
    }
  });

const NAME = 'child keys: after any changes, a key works only while its parents work, and with at most their terms';

test('after any changes, a key works only while its parents work, and with at most their terms', async () => {
  await fc.assert(law(), tries(NAME, 30, 1_500));
});

/** Makes the same keys give a wrong answer to credentials. */
const judged = (judge: (keys: Keys, header: string | null) => ReturnType<Keys['authenticate']>): Mutant => {
  return (keys) =>
    new Proxy(keys, {
      get: (target, name) => {
        if (name === 'authenticate') return (header: string | null) => judge(target, header);
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
};

/** Wrong keys that repeat an earlier answer if `isKept` says so. */
const remembering = (isKept: (reason: string | null) => boolean): Mutant => {
  const first = new Map<string | null, ReturnType<Keys['authenticate']>>();
  return judged((keys, header) => {
    const now = keys.authenticate(header);
    const known = first.get(header);
    if (now.caller?.line && !known) first.set(header, now);
    return known && isKept(now.reason) ? known : now;
  });
};

const MUTANTS: Readonly<Record<string, () => Mutant>> = {
  'terms are the parent’s terms at the time of creation': () => remembering((reason) => reason === null),
  'a revocation of a parent is ignored': () => remembering((reason) => reason === 'revoked'),
  'a suspension of a parent is ignored': () => remembering((reason) => reason === 'suspended'),
  'a rotation or an expiry of a parent is ignored': () => remembering((reason) => reason === 'expired'),
  'a child key may be an administrator': () =>
    judged((keys, header) => {
      const now = keys.authenticate(header);
      if (!now.caller?.parent?.scopes.has('admin')) return now;
      return { ...now, caller: { ...now.caller, scopes: now.caller.parent.scopes } };
    }),
  'a key’s own label overrides its parent’s': () =>
    judged((keys, header) => {
      const now = keys.authenticate(header);
      const own: Caller['labels'] = now.caller?.line ? { 'child.a': 'x' } : {};
      return now.caller ? { ...now, caller: { ...now.caller, labels: { ...now.caller.labels, ...own } } } : now;
    }),
};

test.each(Object.entries(MUTANTS))('the law detects that %s', async (_, mutant) => {
  expect((await fc.check(law(mutant()), { numRuns: 200, seed: 7, endOnFailure: true })).failed).toBe(true);
});
