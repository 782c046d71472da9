import { describe, expect, test } from 'bun:test';
import { hasBit, type RuleScope } from '../../../src/core/policy/rules.ts';
import { EMPTY_REQUEST } from '../../../src/policy/cel/trials.ts';
import { brief, load, loadText, only, problems, SMALL, snapshotOf } from '../support.ts';

const CATALOG = `version: 1
providers:
  near: { adapter: simulated }
  far: { adapter: simulated, api_key_env: FAR }
models:
  b-both:
    endpoints:
      - { provider: far, regions: [us], price: { input: 9, output: 9 } }
      - { provider: near, regions: [eu] }
      - { provider: near, regions: [ch, eu], upstream: b-2 }
    price: { input: 0.7, cached_input: 0.07, output: 2.8, per_request: 0.001 }
    context_window: 100000
    max_output: 8000
    capabilities: [json_schema]
    languages: [js]
    tags: [local]
    reasoning_tokens: 300
    latency: { ttft_ms: 250, output_tokens_per_second: 45 }
    quality: { default: 0.5, coding: 0.75 }
  a-near:
    provider: near
    regions: [us]
    price: { input: 5, output: 10 }
    context_window: 200000
    max_output: 8000
    quality: { default: 0.9 }
  c-far:
    provider: far
    regions: [eu]
    price: { input: 5, output: 10 }
    context_window: 200000
    max_output: 8000
    quality: { default: 0.9 }
`;

const scope = (request: Partial<RuleScope['request']> = {}, more: Partial<RuleScope> = {}): RuleScope => ({
  ...EMPTY_REQUEST,
  request: { ...EMPTY_REQUEST.request, ...request },
  key: { id: 'k', labels: new Map() },
  ...more,
});

const constraint = (lines: string) => `constraints:\n  - name: rule\n${lines}`;
const conditionOf = (when: string) => {
  const text = SMALL + constraint(`    when: ${JSON.stringify(when)}\n    max_cost_credits: 5\n`);
  const found = snapshotOf(loadText(text)).constraints[0]?.when;
  if (!found) throw new Error('no condition');
  return found;
};

describe('`when`', () => {
  test.each([
    ['request.difficulty == "easy"', scope({ difficulty: 'easy' }), true],
    ['request.difficulty == "easy"', scope(), false],
    ['request.difficulty == "hard"', scope({ difficulty: 'hard' }), true],
    ['request.task == "chat" && request.input_tokens < 500', scope({ task: 'chat', input_tokens: 499 }), true],
    ['request.task == "chat" && request.input_tokens < 500', scope({ task: 'chat', input_tokens: 500 }), false],
    ['request.input_tokens == 100.0', scope({ input_tokens: 100 }), true],
    ['request.max_tokens == 0.0 && !request.stream', scope(), true],
    ['request.tools || request.images > 0.0', scope({ images: 2 }), true],
    ['"javascript" in request.languages', scope({ languages: ['javascript'] }), true],
    ['request.languages.exists(l, l == "go")', scope({ languages: ['rust', 'go'] }), true],
    ['request.metadata.interactive == "true"', scope({ metadata: new Map([['interactive', 'true']]) }), true],
    ['request.metadata["a b"] == "x"', scope({ metadata: new Map([['a b', 'x']]) }), true],
    ['request.metadata.missing == ""', scope(), true],
    ['key.labels.department == "legal"', scope(), false],
    ['key.labels.__proto__ == "" && key.labels.constructor == ""', scope(), true],
    ['time.weekday in [6.0, 7.0] || time.hour >= 12.0', scope(), true],
    ['request.user.startsWith("team-") && key.id == "k"', scope({ user: 'team-a' }), true],
    ['int(time.minute) % 2 == 0', scope(), true],
    ['request.budget_limit > 0.0 ? request.budget_limit < 5.0 : false', scope({ budget_limit: 4.5 }), true],
  ])('%s', (text, given, expected) => {
    expect(conditionOf(text)(given)).toBe(expected);
  });

  test('`when` throws if it cannot be evaluated, and loading the policy warns about it', () => {
    const when = 'double(request.metadata.n) > 3.0';
    expect(() => conditionOf(when)(scope())).toThrow();
    expect(conditionOf(when)(scope({ metadata: new Map([['n', '4']]) }))).toBe(true);
    expect(problems(SMALL + constraint(`    when: ${when}\n    max_cost_credits: 5\n`))).toEqual([
      '16:11 when-can-fail',
    ]);
  });

  test('`when` sees only the scope of the current request', () => {
    const when = conditionOf('key.labels.team == "a"');
    const of = (team: string) => scope({}, { key: { id: 'k', labels: new Map([['team', team]]) } });
    const [a, b] = [of('a'), of('b')];
    expect([a, b, a, b, b, a].map((one) => when(one))).toEqual([true, false, true, false, false, true]);
  });
});

/** Returns the endpoints that a constraint allows, as `model/index`. */
const allowed = (require: string, env: Record<string, string> = { FAR: 'key-of-the-test' }) => {
  const snapshot = snapshotOf(loadText(CATALOG + constraint(`    require: ${JSON.stringify(require)}\n`), env));
  const bits = snapshot.constraints[0]?.allows;
  if (!bits) throw new Error('no bits');
  return snapshot.models.flatMap((model) =>
    model.endpoints.flatMap((_, at) => (hasBit(bits, model.firstSlot + at) ? [`${model.id}/${at}`] : [])),
  );
};

describe('`require`', () => {
  test.each([
    ['"eu" in endpoint.regions', ['b-both/1', 'b-both/2', 'c-far/0']],
    ['endpoint.provider == "near"', ['a-near/0', 'b-both/1', 'b-both/2']],
    ['endpoint.upstream == "b-2"', ['b-both/2']],
    ['endpoint.price.input <= 0.7', ['b-both/1', 'b-both/2']],
    ['endpoint.price.per_request > 0.0 && endpoint.price.cached_input == 0.07', ['b-both/1', 'b-both/2']],
    ['model.price.output == 9.0', ['b-both/0', 'b-both/1', 'b-both/2']],
    ['model.quality.coding >= 0.75 && model.quality.default < 0.6', ['b-both/0', 'b-both/1', 'b-both/2']],
    ['model.quality["general"] == 0.9', ['a-near/0', 'c-far/0']],
    ['"json_mode" in model.capabilities', ['b-both/0', 'b-both/1', 'b-both/2']],
    ['"javascript" in model.languages', ['b-both/0', 'b-both/1', 'b-both/2']],
    [
      'model.latency.ttft_ms < 300.0 && model.latency.output_tokens_per_second == 45.0',
      ['b-both/0', 'b-both/1', 'b-both/2'],
    ],
    [
      'model.reasoning_tokens > 0.0 || model.context_window > 100000.0',
      ['a-near/0', 'b-both/0', 'b-both/1', 'b-both/2', 'c-far/0'],
    ],
    ['model.id in ["a-near", "c-far"] && "far" in model.providers', ['c-far/0']],
    ['model.provider == "far" && model.max_output == 8000.0', ['b-both/0', 'b-both/1', 'b-both/2', 'c-far/0']],
    ['!model.tags.exists(t, t == "local")', ['a-near/0', 'c-far/0']],
  ])('%s', (require, expected) => {
    expect(allowed(require)).toEqual(expected);
  });

  test('`require` uses the slots of the endpoints that can be served', () => {
    expect(allowed('"eu" in endpoint.regions', {})).toEqual(['b-both/0', 'b-both/1']);
  });

  test('`require` gives 0 for an expression that fails, with a warning', () => {
    const text = CATALOG + constraint('    require: model.tags[0] == "local"\n');
    const result = loadText(text, { FAR: 'key-of-the-test' });
    expect(result.diagnostics.map(brief)).toEqual(['36:14 require-fails']);
    expect(allowed('model.tags[0] == "local"')).toEqual(['b-both/0', 'b-both/1', 'b-both/2']);
  });

  test('`require` is evaluated over the whole catalog, so a model that is left out in this environment causes only a warning', () => {
    const loaded = loadText(CATALOG + constraint('    require: model.id == "c-far"\n'));
    expect(loaded.snapshot).not.toBeNull();
    expect(only(loaded, 'satisfied-by-none').hint).toContain('set the environment variable of a provider');
  });
});

test('a compiled constraint keeps its ceilings and its location, and has no bits if it requires nothing', () => {
  const text = SMALL + constraint('    max_latency_ms: 5000\n    max_cost_credits: 0.5\n');
  expect(snapshotOf(loadText(text)).constraints).toEqual([
    {
      name: 'rule',
      place: { file: 'p.yaml', line: 15, column: 11, length: 4 },
      when: null,
      allows: null,
      maxLatencyMs: 5000,
      maxCostCredits: 0.5,
    },
  ]);
});

test('a preference has a bit for each model, and a worth', () => {
  const text = `${CATALOG}preferences:\n  - { name: local, when: time.hour < 6.0, prefer: '"local" in model.tags', worth: -0.05 }\n`;
  const [found] = snapshotOf(loadText(text)).preferences;
  expect(found).toMatchObject({ name: 'local', worth: -0.05 });
  expect([0, 1].map((at) => hasBit(found?.prefers ?? new Uint32Array(1), at))).toEqual([false, true]);
  expect(found?.when?.(scope())).toBe(false);
});

test("an operator's own selector has the bits of its models, or none if it has no filter", () => {
  const own = 'selectors:\n  auto-local: { strategy: auto, models: { require: \'"local" in model.tags\' } }\n';
  const { selectors } = snapshotOf(loadText(CATALOG + own, { FAR: 'key-of-the-test' }));
  expect(selectors.get('auto-local')).toMatchObject({ strategy: 'auto', allows: Uint32Array.of(0b010) });
  expect(selectors.get('auto')?.allows).toBeNull();
});

test('rules in several files keep the order of the files', () => {
  const rule = (name: string) => `constraints:\n  - { name: ${name}, max_cost_credits: 5 }\n`;
  const files = [
    { path: 'c.yaml', text: rule('third') },
    { path: 'a.yaml', text: SMALL + rule('first') },
    { path: 'b.yaml', text: rule('second') },
  ];
  expect(snapshotOf(load(files)).constraints.map(({ name }) => name)).toEqual(['first', 'second', 'third']);
});
