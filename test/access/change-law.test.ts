import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { changeableBody } from '../../src/access/key-body.ts';
import { type KeyPatch, patched } from '../../src/access/key-patch.ts';
import { type Keys, openKeys } from '../../src/access/keys.ts';
import { SCOPES, type Scope } from '../../src/core/people/caller.ts';
import type { TrailTable } from '../../src/store/trail.ts';
import { tries } from '../deep/effort.ts';
import { openHostile, openInMemory, openInSqlite, type TestedStore } from '../store/implementations.ts';
import { MORNING } from './support.ts';

/** Two servers that share a store change the same few keys, several at the same time. */
interface Step {
  readonly by: 0 | 1;
  readonly at: number;
  readonly what: 'change' | 'suspend' | 'resume' | 'revoke';
  readonly patch: KeyPatch;
}

const word = fc.constantFrom('a', 'b', 'c');
const scopes = fc.uniqueArray(fc.constantFrom<Scope>(...SCOPES.filter((scope) => scope !== 'report')), {
  minLength: 1,
});
const orNull = <T>(one: fc.Arbitrary<T>) => fc.option(one);
const patch: fc.Arbitrary<KeyPatch> = fc.record(
  {
    name: orNull(word),
    scopes,
    labels: orNull(fc.dictionary(word, orNull(word))),
    models: orNull(fc.uniqueArray(word, { minLength: 1 })),
    limits: orNull(fc.record({ requestsPerMinute: orNull(fc.constantFrom(1, 2)) }, { requiredKeys: [] })),
    budgets: orNull(
      fc
        .uniqueArray(fc.constantFrom('day' as const, 'month' as const))
        .map((windows) =>
          windows.map((window) => ({ limit: 5, window, timeZone: 'UTC', onExhausted: 'cap' as const })),
        ),
    ),
    expiresAt: orNull(fc.constantFrom(MORNING + 10, MORNING + 20)),
    team: orNull(word),
  },
  { requiredKeys: [] },
);
const step: fc.Arbitrary<Step> = fc.record({
  by: fc.constantFrom(0, 1),
  at: fc.nat(2),
  what: fc.constantFrom('change', 'change', 'change', 'suspend', 'resume', 'revoke'),
  patch,
});
/** Batches of steps. The steps of a batch run at the same time. */
const batches = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 });

type Spoil = (trail: TrailTable) => Partial<TrailTable>;

async function stand(open: () => Promise<TestedStore>, spoil: Spoil) {
  const store = await open();
  const spoilt = { ...store.trail, ...spoil(store.trail) };
  const own = { commit: store.commit.bind(store), append: store.append.bind(store), news: store.news };
  const openOne = () =>
    openKeys({ store: { ...own, keys: store.keys, people: store.people, trail: spoilt }, now: () => MORNING });
  return { store, instances: [await openOne(), await openOne()] as const };
}

/** Takes a step. A refusal is a valid result, too. */
async function take({ by, at, what, patch }: Step, instances: readonly [Keys, Keys], ids: readonly string[]) {
  const keys = instances[by];
  const id = ids[at % ids.length] ?? '';
  const done = what === 'change' ? keys.change(id, (info) => patched(info, patch)) : keys[what](id);
  await done.catch((cause: Error) => {
    if (!['KeyConflict', 'KeyTermsError'].includes(cause.name)) throw cause;
  });
}

/** Follows the trail of a key from its first entry. Each entry must begin with the state in which the previous entry ended. */
async function followed(store: TestedStore, id: string): Promise<Record<string, unknown>> {
  const entries = (await store.trail.list({ keyId: id, limit: 1_000 })).toReversed();
  let state: Record<string, unknown> = {};
  for (const { action, details } of entries) {
    if (action === 'create') state = { ...details, suspended_at: null };
    else if (action !== 'revoke') {
      const { before, after } = details as Record<'before' | 'after', Record<string, unknown>>;
      const were = Object.fromEntries(Object.keys(before).map((name) => [name, state[name]]));
      expect(were).toEqual(before);
      state = { ...state, ...after };
    }
  }
  return state;
}

const law = (open: () => Promise<TestedStore>, spoil: Spoil = () => ({})) =>
  fc.asyncProperty(batches, async (run) => {
    const { store, instances } = await stand(open, spoil);
    await using _ = store;
    const made = await Promise.all([
      instances[0].create({ name: 'one', scopes: ['admin'] }),
      instances[0].create({ name: 'two', scopes: ['chat', 'admin'] }),
      instances[0].create({ name: 'three', scopes: ['chat'] }),
    ]);
    const ids = made.map(({ info }) => info.id);
    for (const batch of run) {
      await Promise.all(batch.map((one) => take(one, instances, ids)));
      const rows = await store.keys.all();
      const works = rows.filter(({ key: { info } }) => {
        return info.scopes.includes('admin') && info.revokedAt === null && info.suspendedAt === null;
      });
      expect(works).not.toEqual([]);
      for (const { key } of rows) {
        expect(await followed(store, key.info.id)).toEqual(changeableBody({ ...key.info, lastUsedAt: null }));
      }
    }
    for (const keys of instances) keys.close();
  });

const STORES: Readonly<Record<string, () => Promise<TestedStore>>> = {
  'in SQLite': openInSqlite,
  'in memory': () => openInMemory(),
  'on the hostile store with two servers': () => openHostile(2),
};

describe('changes of keys by two servers at the same time', () => {
  for (const [name, open] of Object.entries(STORES)) {
    const told = `each entry of the trail begins where the previous one ended, and an admin key always works, ${name}`;
    test(told, async () => {
      await fc.assert(law(open), tries(told, name === 'in SQLite' ? 12 : 40, 500));
    });
  }

  const mutants: Readonly<Record<string, Spoil>> = {
    'a change is committed although another change came first': (trail) => ({
      addIfUnchanged: (event) => trail.addIfValid(event, -1),
    }),
    'the last admin key is not protected': (trail) => ({
      addIfUnchanged: (event, condition) => trail.addIfUnchanged(event, { ...condition, otherAdminAt: null }),
    }),
  };
  for (const [name, spoil] of Object.entries(mutants)) {
    test(`the law finds the mistake that ${name}`, async () => {
      const { failed } = await fc.check(
        law(() => openInMemory(), spoil),
        { numRuns: 300, seed: 46, endOnFailure: true },
      );
      expect(failed).toBe(true);
    });
  }
});
