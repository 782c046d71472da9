import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Caller, OPERATOR } from '../../src/core/people/caller.ts';
import type { RuleScope } from '../../src/core/policy/rules.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { NO_CALLER } from '../../src/core/tables/facts/caller.ts';
import { withRules } from '../../src/routing/rules.ts';
import { tries } from '../deep/effort.ts';
import { type ChatBody, chatFacts } from '../support/chat-body.ts';
import { constraint, facts, loadWith, model, snapshot } from './build.ts';

const NOON: RuleScope['time'] = { year: 2026, month: 11, day: 27, weekday: 5, hour: 12, minute: 0 };
const NIGHT = { ...NOON, hour: 2 };

/** Parts of conditions that read the caller, the request or the time. `double` throws for a text that is not a number. */
const PARTS = [
  'key.labels.department == "legal"',
  'key.labels.child != ""',
  'key.id.startsWith("a")',
  'team.id == "red"',
  'double(key.labels.level) > 3.0',
  'user.id == "ada"',
  'request.user == "ada"',
  'request.metadata.kind == "batch"',
  'double(request.metadata.level) > 3.0',
  'request.max_tokens > 100.0',
  'time.hour < 6.0',
  'true',
];

const part = fc.constantFrom(...PARTS);
const condition = fc.oneof(
  part,
  fc.tuple(part, fc.constantFrom('&&', '||'), part).map(([a, join, b]) => `${a} ${join} ${b}`),
  fc.tuple(part, part, part).map(([a, b, c]) => `(${a} || ${b}) && !(${c})`),
  fc.tuple(part, part, part).map(([a, b, c]) => `${a} ? ${b} : ${c}`),
);

function policyOf(constraints: readonly string[], preferences: readonly string[]): PolicySnapshot {
  const list = (name: string, conditions: readonly string[], effect: string) =>
    `${name}: [${conditions.map((when, at) => `{ name: ${name}-${at}, when: '${when}', ${effect} }`).join(', ')}]`;
  const { snapshot: loaded, diagnostics } = loadWith(`version: 1
providers: { sim: { adapter: simulated } }
models:
  one: { provider: sim, price: { input: 1, output: 4 }, context_window: 8192, max_output: 4096, quality: { default: 0.5 } }
${list('constraints', constraints, 'max_cost_credits: 100')}
${list('preferences', preferences, 'prefer: model.price.output < 9.0, worth: 0.1')}
`);
  if (!loaded) throw new Error(JSON.stringify(diagnostics[0]));
  return loaded;
}

const label = (name: string, ...values: string[]) =>
  fc.option(fc.constantFrom(...values).map((value) => [name, value]));
const labels = fc
  .tuple(label('department', 'legal', 'sales'), label('child', 'x'), label('level', '1', '9', 'none'))
  .map((entries): Caller['labels'] => Object.fromEntries(entries.filter((entry) => entry !== null)));
const group = <Key extends 'team' | 'user'>(key: Key, id: string) =>
  fc.boolean().map((is): Pick<Caller, Key> | object => (is ? { [key]: id } : {}));
const key = fc
  .tuple(fc.constantFrom('a1', 'b1'), labels, group('team', 'red'), group('user', 'ada'))
  .map(([keyId, own, team, user]): Caller => ({ ...OPERATOR, keyId, labels: own, ...team, ...user }));
const caller = fc
  .array(key, { minLength: 1, maxLength: 3 })
  .map(
    (line) => line.reduceRight<Caller | undefined>((parent, one) => (parent ? { ...one, parent } : one), undefined)!,
  );

const request = fc.record({
  /** The index of the caller that sends the request. */
  by: fc.nat(),
  /** Whether the caller's terms are first changed to another caller's. */
  isChanged: fc.boolean(),
  user: fc.constantFrom('', 'ada'),
  metadata: fc.constantFrom<Record<string, string>[]>({}, { kind: 'batch', level: '9' }, { level: 'none' }),
  time: fc.constantFrom(NOON, NIGHT),
  max_tokens: fc.constantFrom(10, 500),
});

/** Returns a caller with the same terms that has sent no request yet. */
const copyOf = ({ parent, ...own }: Caller): Caller => (parent ? { ...own, parent: copyOf(parent) } : { ...own });

type RuleRequest = Pick<Parameters<typeof withRules>[2], 'user' | 'metadata' | 'time'> & Pick<ChatBody, 'max_tokens'>;

/** Returns the rules that apply, and the rules whose condition failed. */
function rulesOf(from: PolicySnapshot, by: Caller, { user, metadata, time, max_tokens }: RuleRequest) {
  const failed: string[] = [];
  const read = chatFacts({ model: 'one', messages: [{ role: 'user', content: 'Hello!' }], max_tokens }, by, from);
  const inputs = { stream: false, user, metadata, caller: by, time };
  const { rules } = withRules(read, from, inputs, ({ name }) => failed.push(name));
  return { rules, failed };
}

describe('a condition that reads only the caller', () => {
  test('decides each request as if there had been no earlier request', () => {
    const policy = fc.tuple(fc.array(condition, { minLength: 1, maxLength: 6 }), fc.array(condition, { maxLength: 3 }));
    const law = fc.property(
      fc.array(policy, { minLength: 1, maxLength: 2 }),
      fc.array(caller, { minLength: 1, maxLength: 3 }),
      fc.array(request, { minLength: 2, maxLength: 12 }),
      (policies, given, requests) => {
        const snapshots = policies.map((one) => policyOf(...one));
        const callers = [...given];
        for (const { by, isChanged, ...one } of requests) {
          const at = by % callers.length;
          if (isChanged) callers[at] = { ...copyOf(given[(at + 1) % given.length]!), keyId: callers[at]!.keyId };
          for (const from of snapshots)
            expect(rulesOf(from, callers[at]!, one)).toEqual(rulesOf(from, copyOf(callers[at]!), one));
        }
      },
    );
    fc.assert(law, tries('a condition that reads only the caller remembers nothing wrong', 50, 5_000));
  });

  /** Returns how often each condition ran for these requests. */
  function runsOf(callers: readonly Caller[]): { readonly runs: number[]; readonly active: (readonly number[])[] } {
    const runs = [0, 0, 0, 0];
    const counting = (at: number, holds: (scope: RuleScope) => boolean) =>
      constraint({
        when: (scope) => {
          runs[at]!++;
          return holds(scope);
        },
      });
    const from = snapshot([model('a')], {
      constraints: [
        counting(0, (scope) => scope.key.labels.get('department') === 'legal' && scope.request.stream),
        counting(1, ({ key }) => key.labels.get('department') === 'legal'),
        counting(2, ({ time }) => time.hour > 6),
        counting(3, () => {
          throw new Error('no number');
        }),
      ],
    });
    const active = callers.map((caller) => {
      const inputs = { stream: false, user: '', metadata: {}, caller, time: NOON };
      return withRules(facts(), from, inputs, () => {}).rules.constraints;
    });
    return { runs, active };
  }
  const legal: Caller = { ...OPERATOR, keyId: 'k', labels: { department: 'legal' } };
  const sales: Caller = { ...OPERATOR, keyId: 'k', labels: { department: 'sales' } };

  test('runs once for all requests of a caller; a condition that reads the request or the time, or fails, runs at each request', () => {
    expect(runsOf([legal, legal, legal])).toEqual({
      runs: [3, 1, 3, 3],
      active: [
        [1, 2, 3],
        [1, 2, 3],
        [1, 2, 3],
      ],
    });
    expect(runsOf([sales, sales, sales])).toEqual({
      runs: [1, 1, 3, 3],
      active: [
        [2, 3],
        [2, 3],
        [2, 3],
      ],
    });
  });

  test('can be part of a policy whose other conditions read the request or the time', () => {
    const [first] = policyOf(['key.labels.department == "legal" || request.stream'], []).constraints;
    const unread = (): never => {
      throw new Error('was read');
    };
    const scope = (department: string): RuleScope => ({
      ...{ ...NO_CALLER, key: { id: 'k', labels: new Map([['department', department]]) } },
      get request() {
        return unread();
      },
      get time() {
        return unread();
      },
    });
    expect(first!.when!(scope('legal'))).toBe(true);
    expect(() => first!.when!(scope('sales'))).toThrow('was read');
  });

  test('runs again after a change of the key', () => {
    expect(runsOf([sales, legal, sales])).toEqual({
      runs: [2, 2, 3, 3],
      active: [
        [2, 3],
        [1, 2, 3],
        [2, 3],
      ],
    });
  });

  test('is evaluated again after 10,000 other callers have sent requests', () => {
    const others = Array.from({ length: 10_000 }, (_, at): Caller => ({ ...OPERATOR, keyId: `k${at}` }));
    const { runs, active } = runsOf([legal, ...others, legal]);
    expect(runs[1]).toBe(10_002);
    expect([active[0], active.at(-1)]).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
  });
});
