import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { diffPolicies, type KeyChange, type Outline, type PolicyChange } from '../../../src/policy/runtime/diff.ts';
import { parseFiles } from '../../../src/policy/runtime/parse-files.ts';

type Diff = typeof diffPolicies;
type Thing = Readonly<Record<string, unknown>>;

/** A policy, an edit of it, and the expected changes. */
interface Edited {
  readonly before: Outline;
  readonly after: Outline;
  readonly changes: readonly PolicyChange[];
}

const leaf = fc.oneof(
  fc.integer({ min: 0, max: 5 }),
  fc.constantFrom('a', 'b c', ''),
  fc.array(fc.constantFrom('x', 'y'), { maxLength: 2 }),
);
const key = fc.constantFrom('constructor', 'input', 'output', 'tags', 'when');
const thing = fc.dictionary(key, fc.oneof(leaf, fc.dictionary(key, leaf, { minKeys: 1 })), { maxKeys: 4 });

/** An edit of the value at a path: nothing, a removal, or another value. A map may also be edited inside. */
interface Cut {
  readonly value: unknown;
  readonly keys: readonly KeyChange[];
}

/** Makes a different value, because generated values never contain `\u0000`. */
const other = (value: unknown): unknown => (typeof value === 'string' ? `${value}\u0000` : [value, '\u0000']);

function cut(value: unknown, path: string, dice: () => number): Cut | null {
  const roll = dice();
  if (isThing(value) && roll < 3) return cutThing(value, path, dice);
  if (roll === 3) return { value: undefined, keys: [{ key: path, from: value }] };
  if (roll === 4) return { value: other(value), keys: [{ key: path, from: value, to: other(value) }] };
  return null;
}

function cutThing(value: Thing, path: string, dice: () => number): Cut {
  const entries: [string, unknown][] = [];
  const keys: KeyChange[] = [];
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  for (const [name, inner] of Object.entries(value)) {
    const made = cut(inner, at(name), dice);
    if (made) keys.push(...made.keys);
    if (!made || made.value !== undefined) entries.push([name, made ? made.value : inner]);
  }
  if (dice() === 0) {
    entries.push(['fresh', 7]);
    keys.push({ key: at('fresh'), to: 7 });
  }
  return { value: Object.fromEntries(entries), keys };
}

const isThing = (value: unknown): value is Thing =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const byKey = (a: KeyChange, b: KeyChange) => (a.key < b.key ? -1 : 1);

function editThing(section: string, name: string | null, value: Thing, dice: () => number) {
  const { value: after, keys } = cutThing(value, '', dice);
  const changes: PolicyChange[] =
    keys.length === 0 ? [] : [{ change: 'changed', section, name, keys: [...keys].sort(byKey) }];
  return { after, changes };
}

/** Edits members, which are a map, as in `models`, or a list of items with a name, as in `constraints`. */
function editMembers(section: string, members: Readonly<Record<string, Thing>>, isList: boolean, dice: () => number) {
  const changes: PolicyChange[] = [];
  const after: [string, unknown][] = [];
  for (const [name, value] of Object.entries(members)) {
    if (dice() === 0) {
      changes.push({ change: 'removed', section, name });
      continue;
    }
    const edited = editThing(section, name, value, dice);
    changes.push(...edited.changes);
    after.push([name, edited.after]);
  }
  if (dice() === 0) {
    changes.push({ change: 'added', section, name: 'newcomer' });
    after.unshift(['newcomer', {}]);
  }
  return { before: laidOut(Object.entries(members), isList), after: laidOut(after, isList), changes };
}

const laidOut = (entries: readonly (readonly [string, unknown])[], isList: boolean): unknown =>
  isList ? entries.map(([name, value]) => ({ ...(value as Thing), name })) : Object.fromEntries(entries);

const name = fc.constantFrom('alpha', 'beta', 'gamma', 'toString');
const edits: fc.Arbitrary<Edited> = fc
  .record({
    models: fc.dictionary(name, thing, { minKeys: 1 }),
    constraints: fc.dictionary(name, thing, { minKeys: 1 }),
    gateway: thing,
    rolls: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 40 }),
  })
  .map(({ models, constraints, gateway, rolls }) => {
    let thrown = 0;
    const dice = () => rolls[thrown++ % rolls.length]!;
    const parts = {
      constraints: editMembers('constraints', constraints, true, dice),
      models: editMembers('models', models, false, dice),
    };
    const single = editThing('gateway', null, gateway, dice);
    return {
      before: { models: parts.models.before, gateway, constraints: parts.constraints.before },
      after: { constraints: parts.constraints.after, gateway: single.after, models: parts.models.after },
      changes: [...parts.constraints.changes, ...single.changes, ...parts.models.changes],
    };
  });

const order = (a: PolicyChange, b: PolicyChange) =>
  a.section < b.section || (a.section === b.section && (a.name ?? '') < (b.name ?? '')) ? -1 : 1;

const mirrored = ({ change, keys, ...rest }: PolicyChange): PolicyChange => ({
  ...rest,
  change: change === 'added' ? 'removed' : change === 'removed' ? 'added' : change,
  ...(keys && {
    keys: keys.map(({ key, ...one }) => ({
      key,
      ...('to' in one && { from: one.to }),
      ...('from' in one && { to: one.from }),
    })),
  }),
});

/** Returns the same policy in another order: keys of maps, and named members of lists. */
function reordered(value: unknown, depth = 0): unknown {
  if (Array.isArray(value) && value.every(isThing) && depth === 1)
    return value.map((one) => reordered(one, 2)).reverse();
  if (!isThing(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reordered(inner, depth + 1)]),
  );
}

const LAWS: Readonly<Record<string, (diff: Diff) => fc.IProperty<unknown>>> = {
  'lists exactly the edits': (diff) =>
    fc.property(edits, ({ before, after, changes }) => expect(diff(before, after)).toEqual([...changes].sort(order))),
  'is empty between a policy and itself': (diff) =>
    fc.property(edits, ({ before }) => expect(diff(before, structuredClone(before))).toEqual([])),
  'is mirrored if the two policies are swapped': (diff) =>
    fc.property(edits, ({ before, after }) => expect(diff(after, before)).toEqual(diff(before, after).map(mirrored))),
  'does not contain changes of order': (diff) =>
    fc.property(edits, ({ before }) => {
      expect(diff(before, reordered(before) as Outline)).toEqual([]);
    }),
};

const withoutKeys =
  (keep: (key: KeyChange) => boolean): Diff =>
  (before, after) =>
    diffPolicies(before, after)
      .map((one) => (one.keys ? { ...one, keys: one.keys.filter(keep) } : one))
      .filter(({ keys }) => keys === undefined || keys.length > 0);
const byPosition = (outline: Outline): Outline => {
  const list = outline.constraints;
  return Array.isArray(list)
    ? { ...outline, constraints: Object.fromEntries(list.entries().map(([i, one]) => [i, one])) }
    : outline;
};

/** Plausible wrong implementations, with the law that must detect them. */
const MUTANTS: readonly (readonly [law: keyof typeof LAWS, what: string, diff: Diff])[] = [
  [
    'lists exactly the edits',
    'does not see removals',
    (a, b) => diffPolicies(a, b).filter(({ change }) => change !== 'removed'),
  ],
  ['lists exactly the edits', 'does not see new keys', withoutKeys((one) => 'from' in one)],
  ['lists exactly the edits', 'looks only at the first level', withoutKeys(({ key }) => !key.includes('.'))],
  [
    'lists exactly the edits',
    'finds names that every object inherits',
    withoutKeys(({ key }) => !key.includes('constructor')),
  ],
  [
    'is empty between a policy and itself',
    'compares by identity',
    (a, b) => (a === b ? [] : [{ change: 'changed', section: 'gateway', name: null }]),
  ],
  [
    'is mirrored if the two policies are swapped',
    'lists only additions',
    (a, b) => diffPolicies(a, b).filter(({ change }) => change !== 'removed'),
  ],
  [
    'does not contain changes of order',
    'compares by position in a list',
    (a, b) => diffPolicies(byPosition(a), byPosition(b)),
  ],
  [
    'does not contain changes of order',
    'compares texts',
    (a, b) => (JSON.stringify(a) === JSON.stringify(b) ? [] : [{ change: 'changed', section: 'models', name: null }]),
  ],
];

describe('the difference of two policies', () => {
  for (const [law, of] of Object.entries(LAWS)) {
    test(law, () => fc.assert(of(diffPolicies), { numRuns: 100 }));
  }

  for (const [law, what, diff] of MUTANTS) {
    test(`the law “${law}” detects a difference that ${what}`, () => {
      // A mutant that is not detected is reported with its seed.
      expect(fc.check(LAWS[law]!(diff), { endOnFailure: true, numRuns: 1_000 })).toMatchObject({ failed: true });
    });
  }

  test('the difference of two policies does not depend on comments, the order of keys or the file', async () => {
    const one = `version: 1 # the first\nmodels:\n  a: { max_output: 5, tags: [x] }\n  b: {}\n`;
    const others = [
      '# models\nmodels:\n  b: {}\n  a:\n    tags:\n      - x # old\n    max_output: 5\n',
      'version: 1\n',
    ];
    const files = others.map((text, at) => ({ path: `${at}.yaml`, text }));
    const { outline } = await parseFiles([{ path: 'p.yaml', text: one }], null);
    expect((await parseFiles(files, outline)).changes).toEqual([]);
  });
});
