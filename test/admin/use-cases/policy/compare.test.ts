import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { shipped } from '../../../../plugins/index.ts';
import {
  compareCases,
  isSame,
  NO_TOTALS,
  type RequestOutcome,
  requestOutcomeOf,
  type Side,
  withOutcomes,
} from '../../../../src/admin/use-cases/policy/compare.ts';
import { rehearse } from '../../../../src/admin/use-cases/policy/rehearse.ts';
import { createPluginLoader } from '../../../../src/host/plugins/load.ts';
import { compileCandidate, isRejected, type PolicyTools } from '../../../../src/policy/runtime/candidate.ts';
import { parseFiles } from '../../../../src/policy/runtime/parse-files.ts';
import { testPolicy } from '../../../support/policies.ts';
import { runCase } from '../../../support/run-case.ts';

const tools: PolicyTools = {
  folder: '.',
  shipped,
  loader: createPluginLoader(),
  env: { get: (name) => (name === 'TEST_UPSTREAM_KEY' ? 'key-of-the-test' : undefined) },
  now: () => 0,
  parse: parseFiles,
  rehearse,
};

/** A catalog of three models, and two cases. Each policy may lack a case, and has a different provider for the first model. */
interface Written {
  readonly quality: readonly number[];
  readonly price: readonly number[];
  readonly home: string;
  readonly expected: string;
  readonly lacks: string;
}

const written: fc.Arbitrary<Written> = fc.record({
  quality: fc.array(fc.constantFrom(0.3, 0.6, 0.9), { minLength: 3, maxLength: 3 }),
  price: fc.array(fc.constantFrom(0.1, 1, 10), { minLength: 3, maxLength: 3 }),
  home: fc.constantFrom('first', 'second'),
  expected: fc.constantFrom('m0', 'm1', 'm2'),
  lacks: fc.constantFrom('usual', 'cheap', 'pinned', ''),
});

function textOf({ quality, price, home, expected, lacks }: Written, order: (ids: string[]) => string[] = (ids) => ids) {
  const ids = order(['m0', 'm1', 'm2']);
  const models = Object.fromEntries(
    ids.map((id) => {
      const at = Number(id[1]);
      const endpoints = [home, home === 'first' ? 'second' : 'first'];
      return [id, { endpoints, quality: quality[at]!, price: { input: price[at]!, output: price[at]! * 4 } }];
    }),
  );
  const cases = [
    `{ name: usual, given: {}, expect: { model: ${expected} } }`,
    `{ name: cheap, given: { model: auto-cheap }, expect: { model: ${expected} } }`,
    `{ name: pinned, given: { model: m1, constraints: { max_cost_credits: 0.5 } }, expect: { model: m1 } }`,
  ].filter((one) => !one.includes(`name: ${lacks},`));
  const upstreams = { first: 'http://127.0.0.1:9/v1', second: 'http://127.0.0.1:9/v1' };
  return testPolicy(upstreams, models, `cases:\n${cases.map((one) => `  - ${one}\n`).join('')}`);
}

async function sideOf(text: string): Promise<Side> {
  const prepared = await compileCandidate({ files: [{ path: 'policy.yaml', text }], hash: 'h' }, tools);
  if (isRejected(prepared)) throw new Error(JSON.stringify(prepared));
  const { runtime } = prepared;
  return { cases: runtime.snapshot.cases, anywhere: runtime, here: runtime };
}

type Compare = (a: Side, b: Side) => ReturnType<typeof compared>;

function compared(a: Side, b: Side) {
  const steps = compareCases(a, b);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Returns how a policy decides a case without the other policy. */
function alone(name: string, own: Side, other: Side): { answer: RequestOutcome; holds: boolean } {
  const found = [...own.cases, ...other.cases].find((one) => one.name === name)!;
  const { outcome, failures } = runCase(found, own.anywhere);
  return { answer: requestOutcomeOf(outcome!, own.anywhere.snapshot), holds: failures.length === 0 };
}

const LAWS: Readonly<Record<string, (compare: Compare) => fc.IAsyncProperty<unknown>>> = {
  'a policy equals itself, however it is written': (compare) =>
    fc.asyncProperty(written, async (one) => {
      const [a, b] = [await sideOf(textOf(one)), await sideOf(textOf(one, (ids) => ids.reverse()))];
      const found = compare(a, b);
      expect(found.filter(({ a, b, broken }) => !isSame(a, b) || broken.length > 0)).toEqual([]);
      const totals = found.reduce((sum, { a, b }) => withOutcomes(sum, a, b, 3), NO_TOTALS);
      expect(totals).toMatchObject({ requests: found.length * 3, different: 0, a: totals.b });
    }),
  'every case is compared once, with the result that each policy gives alone': (compare) =>
    fc.asyncProperty(written, written, async (one, other) => {
      const [a, b] = [await sideOf(textOf(one)), await sideOf(textOf(other))];
      const names = new Set([...a.cases, ...b.cases].map(({ name }) => name));
      const found = compare(a, b);
      expect(found.map((told) => told.case.name).sort()).toEqual([...names].sort());
      for (const told of found) {
        const { name } = told.case;
        const [inA, inB] = [alone(name, a, b), alone(name, b, a)];
        expect([told.a, told.b]).toEqual([inA.answer, inB.answer]);
        const wasThere = a.cases.some((own) => own.name === name);
        expect(told.broken.length > 0).toBe(wasThere && inA.holds && !inB.holds);
      }
    }),
  'the comparison of B with A is the reverse of A with B': (compare) =>
    fc.asyncProperty(written, written, async (one, other) => {
      const [a, b] = [await sideOf(textOf(one)), await sideOf(textOf(other))];
      const brief = (side: Side, next: Side) =>
        new Map(compare(side, next).map((told) => [told.case.name, [told.a, told.b] as const]));
      const back = brief(b, a);
      for (const [name, [from, to]] of brief(a, b)) expect(back.get(name)).toEqual([to, from]);
    }),
};

/** Comparisons with mistakes that an author could plausibly make. */
const MUTANTS: readonly (readonly [law: string, what: string, compare: Compare])[] = [
  [
    'a policy equals itself, however it is written',
    'treats a different text as a different choice',
    (a, b) =>
      compared(a, b).map((told, at) => ({ ...told, b: { code: b.anywhere.snapshot.revision, message: `${at}` } })),
  ],
  [
    'every case is compared once, with the result that each policy gives alone',
    'decides with the same policy twice',
    (a) => compared(a, a),
  ],
  [
    'every case is compared once, with the result that each policy gives alone',
    'leaves out removed cases',
    (a, b) => compared(a, b).filter(({ of }) => of !== 'a'),
  ],
  [
    'every case is compared once, with the result that each policy gives alone',
    'does not check whether a case held before',
    (a, b) =>
      compared(b, b).map((told, at) => ({ ...compared(a, b)[at]!, broken: runCase(told.case, b.anywhere).failures })),
  ],
  [
    'the comparison of B with A is the reverse of A with B',
    'decides with the later policy twice',
    (_, b) => compared(b, b),
  ],
];

describe('the decisions of two policies', () => {
  for (const [law, of] of Object.entries(LAWS)) {
    test(law, () => fc.assert(of(compared), { numRuns: 10 }));
  }

  for (const [law, what, compare] of MUTANTS) {
    test(`the law “${law}” finds a comparison that ${what}`, async () => {
      // If the mutant survives, the test reports its seed.
      const found = await fc.check(LAWS[law]!(compare), { endOnFailure: true, numRuns: 2_000 });
      expect(found).toMatchObject({ failed: true });
    });
  }

  test('another provider of the same model is a different choice; another price alone is not', async () => {
    const one: Written = { quality: [0.9, 0.6, 0.3], price: [1, 1, 1], home: 'first', expected: 'm0', lacks: '' };
    const before = await sideOf(textOf(one));
    const moved = compared(before, await sideOf(textOf({ ...one, home: 'second' })));
    expect(moved.map(({ a, b }) => isSame(a, b)).slice(0, 2)).toEqual([false, false]);
    const dearer = compared(before, await sideOf(textOf({ ...one, price: [0.1, 1, 1] })));
    const [usual] = dearer;
    expect(isSame(usual!.a, usual!.b)).toBe(true);
    expect(withOutcomes(NO_TOTALS, usual!.a, usual!.b, 2)).toMatchObject({ requests: 2, different: 0, answered: 2 });
  });
});
