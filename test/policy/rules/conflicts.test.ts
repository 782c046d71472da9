import { describe, expect, test } from 'bun:test';
import { OPERATOR } from '../../../src/core/people/caller.ts';
import { readEmbeddings, readEmbeddingsRequest } from '../../../src/dialects/openai-embeddings/surface.ts';
import { EMPTY_REQUEST } from '../../../src/policy/cel/trials.ts';
import { textFacts } from '../../../src/routing/facts.ts';
import { withRules } from '../../../src/routing/rules.ts';
import { load, only } from '../support.ts';

const model = (id: string, price: number, more: string) =>
  `  ${id}: { provider: sim, price: { input: 1, output: ${price} }, context_window: 8192, max_output: 2048, quality: { default: 0.6 }, ${more} }\n`;

const CATALOG = `version: 1
providers:
  sim: { adapter: simulated }
  cloud: { adapter: openai-compatible, base_url: "https://cloud.example/v1", api_key_env: CLOUD_KEY }
  mine: { adapter: openai-compatible, base_url: "https://mine.example/v1" }
models:
${model('in-the-eu', 1, 'regions: [eu], tags: [plain]')}${model('strong', 9, 'regions: [us], tags: [flagship]')}`;

const EU = `'"eu" in endpoint.regions'`;
const FLAGSHIP = `'"flagship" in model.tags'`;

const rule = (name: string, when: string | null, require: string) =>
  `  - { name: ${name}, ${when === null ? '' : `when: '${when}', `}require: ${require} }\n`;

const loaded = (text: string, variables: Record<string, string> = {}) =>
  load([{ path: 'p.yaml', text: CATALOG + text }], variables);

const conflictsIn = (text: string, variables: Record<string, string> = {}) =>
  loaded(text, variables).diagnostics.filter(({ code }) => code === 'rules-conflict');

const pair = (a: string | null, b: string | null) => `constraints:\n${rule('a', a, EU)}${rule('b', b, FLAGSHIP)}`;

describe('Signalbox warns about two constraints that together allow no model', () => {
  test.each([
    ['both without a condition', null, null],
    ['one without a condition', null, 'request.task == "coding"'],
    ['the same condition', 'request.stream', 'request.stream'],
    ['conditions on other fields', 'key.labels.team == "legal"', 'request.task == "coding"'],
    ['one condition that includes the other', 'request.task in ["coding", "chat"]', 'request.task == "coding"'],
    ['a label with a value and a label that is not empty', 'key.labels.team != ""', 'key.labels.team == "legal"'],
    ['hours and a task', 'time.hour >= 22.0 || time.hour < 6.0', 'request.task == "coding"'],
    ['ranges that overlap', 'request.input_tokens > 1000.0', 'request.input_tokens < 5000.0'],
    ['two languages, which one request may have', '"rust" in request.languages', '"python" in request.languages'],
    ['a team and metadata', 'team.name == "search"', 'request.metadata.purpose.contains("report")'],
  ])('%s', (_, a, b) => {
    expect(conflictsIn(pair(a, b))).toHaveLength(1);
  });

  test('the warning about two constraints shows the locations and models of both, and an example of a request to which both apply', () => {
    const [found] = conflictsIn(pair('key.labels.team == "legal"', 'request.task == "coding"'));
    expect(found?.message).toContain('the first allows `in-the-eu`, the second allows `strong`');
    expect([found?.line, found?.related?.place.line]).toEqual([11, 10]);
    expect(found?.hint).toContain('`key.labels.team` "legal" and `request.task` "coding"');
  });

  test('two constraints that together allow no model cause only a warning, so that the policy loads', () => {
    expect(loaded(pair(null, null)).snapshot).not.toBeNull();
  });

  test('Signalbox warns about two constraints if only an embedding model satisfies both, because it cannot answer chats', () => {
    const vectors =
      '  vectors: { provider: sim, operations: [embed], embedding: { dimensions: 8, vector_space: v }, price: { input: 1, output: 0 }, context_window: 100, max_output: 1, quality: { default: 0.5 }, regions: [eu], tags: [flagship] }\n';
    const { diagnostics } = loaded(vectors + pair(null, null));
    expect(diagnostics.map(({ code }) => code)).toContain('rules-conflict');
  });

  test('Signalbox warns about two constraints if the only model that satisfies both cannot be served', () => {
    const both =
      '  both: { provider: cloud, price: { input: 1, output: 2 }, context_window: 100, max_output: 50, quality: { default: 0.5 }, regions: [eu], tags: [flagship] }\n';
    expect(conflictsIn(both + pair(null, null))).toHaveLength(1);
    expect(conflictsIn(both + pair(null, null), { CLOUD_KEY: 'a-long-enough-key' })).toEqual([]);
  });
});

describe('Signalbox does not warn about two constraints', () => {
  test.each([
    ['whose tasks differ', 'request.task == "coding"', 'request.task == "chat"'],
    ['whose labels differ', 'key.labels.team == "legal"', 'key.labels.team == "search"'],
    ['if one is for streams and the other for all other requests', 'request.stream', '!request.stream'],
    ['whose ranges do not overlap', 'request.input_tokens > 5000.0', 'request.input_tokens < 1000.0'],
    ['with no full hour in common', 'time.hour > 9.0 && time.hour < 11.0', 'time.hour > 10.0 && time.hour < 12.0'],
    ['whose texts begin differently', 'request.user.startsWith("a")', 'request.user.startsWith("b")'],
    ['for callers who perhaps do not exist', 'key.labels.role == "intern"', 'key.labels.team == "legal"'],
    ['for a team and a user, which may not belong together', 'team.name == "search"', 'user.name == "Ann"'],
    ['if one of them never applies', 'request.task == "coding" && request.task == "chat"', null],
  ])('%s', (_, a, b) => {
    expect(conflictsIn(pair(a, b))).toEqual([]);
  });

  test('Signalbox does not warn about two constraints if a model satisfies both', () => {
    const rules = `constraints:\n${rule('a', null, EU)}${rule('b', null, 'model.price.output < 5.0')}`;
    expect(conflictsIn(rules)).toEqual([]);
  });

  test('Signalbox does not warn about two constraints if one of them allows no model, because that constraint is reported separately', () => {
    const rules = `constraints:\n${rule('a', 'request.stream', EU)}${rule('b', 'request.stream', 'model.price.output > 50.0')}`;
    expect(loaded(rules).diagnostics.map(({ code }) => code)).toEqual(['satisfied-by-none']);
  });
});

describe('a selector and a constraint', () => {
  const selector = (when: string | null) =>
    `selectors:\n  cheap: { strategy: auto, models: { require: model.price.output < 5.0 } }\nconstraints:\n${rule('b', when, FLAGSHIP)}`;

  test.each([
    ['no condition', null],
    ['a condition on the selector alone', 'request.model == "cheap"'],
  ])('a selector and a constraint are reported if every request to the selector is refused: %s', (_, when) => {
    const found = only(loaded(selector(when)), 'rules-conflict');
    expect(found.message).toContain('the filter of the selector `cheap`');
  });

  test.each([['request.model == "auto"'], ['key.labels.team == "legal"']])(
    'a selector and a constraint are not reported if some requests to the selector are served: %s',
    (when) => {
      expect(conflictsIn(selector(when))).toEqual([]);
    },
  );
});

const VECTORS =
  '  vectors: { provider: mine, operations: [embed], embedding: { dimensions: 8, vector_space: v }, price: { input: 1, output: 0 }, context_window: 100, max_output: 1, quality: { default: 0.5 }, regions: [eu] }\n' +
  '  more-vectors: { provider: mine, operations: [embed], embedding: { dimensions: 8, vector_space: w }, price: { input: 1, output: 0 }, context_window: 100, max_output: 1, quality: { default: 0.5 }, tags: [flagship] }\n';

describe('requests that cannot exist cause no conflict:', () => {
  test.each([
    ['embeddings with tools', 'request.operation == "embed"', 'request.tools'],
    ['embeddings of a task', 'request.operation == "embed"', 'request.task == "coding"'],
    ['embeddings with a stream', 'request.operation == "embed"', 'request.stream'],
    ['embeddings with images', 'request.operation == "embed"', 'request.images > 0.0'],
    ['embeddings with a cap on output', 'request.operation == "embed"', 'request.max_tokens > 100.0'],
    ['tools that are missing in `request.needs`', 'request.tools', '!("tools" in request.needs)'],
    ['`request.needs` with tools that the request does not offer', '!request.tools', '"tools" in request.needs'],
    ['images that are missing in `request.needs`', 'request.images > 0.0', '!("vision" in request.needs)'],
    ['a task about images without the need for vision', 'request.task == "vision"', '!("vision" in request.needs)'],
    ['a hard question about images', 'request.images > 0.0', 'request.difficulty == "hard"'],
    ['a chat with an embedding model', 'request.model == "vectors"', 'request.tools'],
    ['embeddings by a selector for chats', 'request.model == "auto"', 'request.operation == "embed"'],
  ])('%s', (_, a, b) => {
    expect(conflictsIn(VECTORS + pair(a, b))).toEqual([]);
  });

  test('requests with the same fields that can exist do cause a conflict', () => {
    expect(conflictsIn(VECTORS + pair('request.tools', '"tools" in request.needs'))).toHaveLength(1);
    expect(conflictsIn(VECTORS + pair('request.images > 0.0', '!("tools" in request.needs)'))).toHaveLength(1);
    expect(conflictsIn(VECTORS + pair('request.operation == "embed"', 'request.user == "a"'))).toHaveLength(1);
  });

  test('every request for embeddings has the field values that the check assumes', () => {
    const condition =
      'request.task.startsWith("unread") && request.difficulty == "usual" && request.max_tokens == 0.0 && !request.stream && !request.tools && request.images == 0.0 && request.output_tokens == 0.0 && request.natural_language == "und" && size(request.needs) == 0 && size(request.languages) == 0';
    const { snapshot } = loaded(`${VECTORS}constraints:\n${rule('of-embeddings', condition, '"true"')}`);
    const request = readEmbeddingsRequest(readEmbeddings({ model: 'vectors', input: ['a text'] }));
    const inputs = { stream: false, user: '', metadata: undefined, caller: OPERATOR, time: EMPTY_REQUEST.time };
    const facts = withRules(textFacts(request, OPERATOR, snapshot!), snapshot!, inputs, () => {});
    expect(facts.rules.constraints).toEqual([0]);
  });
});

describe('the models that a conflict message names', () => {
  test('a conflict message about requests for embeddings names embedding models', () => {
    const [found] = conflictsIn(VECTORS + pair('request.operation == "embed"', 'request.operation == "embed"'));
    expect(found?.message).toContain('the first allows `vectors`, the second allows `more-vectors`');
    expect(found?.hint).toContain('requests for embeddings');
  });

  test('a conflict message names only models that can be served, and no wildcard of a provider without its key', () => {
    const wildcard = '  "cloud/*": { provider: cloud, price: { input: 1, output: 2 }, tags: [flagship] }\n';
    const [found] = conflictsIn(wildcard + pair(null, null));
    expect(found?.message).toContain('the second allows `strong`');
    expect(found?.message).not.toContain('cloud');
  });
});

describe('Signalbox warns about rules for every request that leave no chat model', () => {
  const alone = (text: string, variables: Record<string, string> = {}) =>
    only(loaded(text, variables), 'satisfied-by-none');

  test('Signalbox warns if a rule for every request leaves only embedding models', () => {
    const found = alone(`${VECTORS}constraints:\n${rule('cheap', null, 'model.price.output < 0.5')}`);
    expect(found.message).toContain('`vectors`, `more-vectors`');
    expect(found.hint).toContain('every chat is refused');
  });

  test('Signalbox does not warn about a rule that leaves no chat model if the rule is for embeddings, or for callers that may only embed', () => {
    for (const when of ['request.operation == "embed"', 'key.labels.app == "index"']) {
      expect(loaded(`${VECTORS}constraints:\n${rule('a', when, 'model.price.output < 0.5')}`).diagnostics).toEqual([]);
    }
  });

  test('Signalbox warns if a rule for a kind of chats leaves only embedding models', () => {
    const found = alone(`${VECTORS}constraints:\n${rule('a', 'request.task == "coding"', 'model.price.output < 0.5')}`);
    expect(found.hint).toContain('chats that this constraint applies to');
  });

  test('Signalbox warns if a rule for every request leaves only models that cannot be served', () => {
    const left =
      '  left: { provider: cloud, price: { input: 1, output: 2 }, context_window: 100, max_output: 50, quality: { default: 0.5 }, tags: [far] }\n';
    const text = `${left}constraints:\n${rule('a', null, `'"far" in model.tags'`)}`;
    expect(alone(text).message).toContain('`left`');
    expect(loaded(text, { CLOUD_KEY: 'a-long-enough-key' }).diagnostics).toEqual([]);
  });

  test('Signalbox warns if a rule for every request leaves only models of wildcards, which it cannot check yet', () => {
    const wildcard = '  "cloud/*": { provider: cloud }\n';
    const key = { CLOUD_KEY: 'a-long-enough-key' };
    const found = alone(`${wildcard}constraints:\n${rule('a', null, 'model.price.output < 0.5')}`, key);
    expect(found.hint).toContain('`cloud/*`');
    const chosen = `${wildcard}constraints:\n${rule('a', null, 'model.provider == "cloud"')}`;
    expect(loaded(chosen, key).diagnostics).toEqual([]);
  });

  test('Signalbox warns if every pair of rules leaves a chat model, but all three together leave none', () => {
    const both =
      '  both: { provider: sim, price: { input: 1, output: 9 }, context_window: 100, max_output: 50, quality: { default: 0.5 }, regions: [eu], tags: [flagship] }\n';
    const rules = pair(null, null) + rule('c', null, `'model.price.output < 5.0 || !("eu" in endpoint.regions)'`);
    expect(conflictsIn(both + rules).map(({ message }) => message)).toEqual([
      expect.stringContaining('constraint `a`, constraint `b` and constraint `c` together'),
    ]);
  });
});

test('a load reports at most 20 pairs of rules', () => {
  const rules = Array.from({ length: 12 }, (_, at) => rule(`r${at}`, null, at % 2 === 0 ? EU : FLAGSHIP));
  expect(conflictsIn(`constraints:\n${rules.join('')}`)).toHaveLength(20);
});
