import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { shipped } from '../../plugins/index.ts';
import { decideFor, hypotheticalFacts } from '../../src/admin/use-cases/policy/hypothetical.ts';
import { USUAL_TIME } from '../../src/admin/use-cases/policy/reasons.ts';
import { OPERATOR } from '../../src/core/people/caller.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { buildRuntime } from '../../src/policy/runtime/runtime.ts';
import { effort } from '../deep/effort.ts';
import { EVERY_VARIABLE, loadShippedPolicy } from '../policy/shipped.ts';
import { snapshotOf } from '../policy/support.ts';
import { chatRequest } from '../support/model-request.ts';

const { runs, seed } = effort('denied-models', 60, 3_000);
const runtime = buildRuntime(snapshotOf(loadShippedPolicy(EVERY_VARIABLE)), createRegistry(shipped), {
  get: () => 'a-key-of-the-test',
});
const ids = runtime.snapshot.models.map(({ id }) => id);

const request = fc.record({
  model: fc.constantFrom('auto', 'auto-cheap', 'auto-fast'),
  messages: fc
    .constantFrom('Hello!', 'Write a function in Python that sorts a list.', 'Prove that 2 is prime.')
    .map((content) => [{ role: 'user' as const, content }]),
});

interface Lists {
  readonly models: readonly string[] | null;
  readonly notModels: readonly string[] | null;
}

function decide(body: object, lists: Lists, change: (facts: Facts) => Facts = (facts) => facts) {
  const { models, notModels } = lists;
  const caller = {
    ...OPERATOR,
    models: models && new Set(models),
    ...(notModels && { notModels: new Set(notModels) }),
  };
  const facts = hypotheticalFacts({ request: chatRequest(body), caller, timeMs: Date.parse(USUAL_TIME) }, runtime);
  // A refusal contains the facts, which differ in their lists.
  return { ...decideFor(change(facts), runtime), facts: null };
}

/** A list of denied models decides like the list of all other models. */
const law = (change?: (facts: Facts) => Facts) =>
  fc.property(request, fc.subarray(ids), fc.option(fc.subarray(ids, { minLength: 1 })), (body, denied, models) => {
    const others = (models ?? ids).filter((id) => !denied.includes(id));
    expect(decide(body, { models, notModels: denied }, change)).toEqual(
      decide(body, { models: others, notModels: null }),
    );
  });

test('a list of denied models decides like the list of all models that are left', () => {
  fc.assert(law(), { numRuns: runs, seed });
  // An implementation that ignores the list without a list of allowed models breaks the law.
  const ignoring = ({ deniedModels: _, ...facts }: Facts): Facts => facts;
  expect(fc.check(law(ignoring), { numRuns: 300, seed, endOnFailure: true }).failed).toBe(true);
});
