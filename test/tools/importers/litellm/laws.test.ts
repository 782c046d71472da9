import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, stringify } from 'yaml';
import { reportJson, reportText } from '../../../../src/cli/import/report.ts';
import { type ImportReport, type ImportResult, NotYaml } from '../../../../src/tools/importers/litellm/litellm.ts';
import { tries } from '../../../deep/effort.ts';
import { configuration, errorsIn, GOOD, imported } from './support.ts';

const { numRuns: runs, seed } = tries('an import accounts for every key, and its policy loads', 20, 1_000);

/** Finds the positions of all leaves, with other code than the importer's. */
function leafPlaces(text: string): string[] {
  const lines = new LineCounter();
  const places: string[] = [];
  const walk = (node: unknown, start: number): void => {
    if (isAlias(node)) return;
    if (isMap(node) && node.items.length > 0) {
      for (const { key, value } of node.items) walk(value, isScalar(key) ? (key.range?.[0] ?? 0) : 0);
    } else if (isSeq(node) && node.items.length > 0) {
      for (const item of node.items)
        walk(item, isScalar(item) || isMap(item) || isSeq(item) ? (item.range?.[0] ?? 0) : 0);
    } else {
      const { line, col } = lines.linePos(start);
      places.push(`${line}:${col}`);
    }
  };
  walk(parseDocument(text, { lineCounter: lines, merge: true }).contents, 0);
  return places.sort();
}

const accountsForAll = (text: string, { keys }: Pick<ImportReport, 'keys'>): boolean =>
  JSON.stringify(keys.map(({ line, column }) => `${line}:${column}`).sort()) === JSON.stringify(leafPlaces(text)) &&
  keys.every(({ outcome, note, to }) => (outcome === 'left_out' ? note !== '' && to === null : to !== null)) &&
  keys.every(({ outcome, note }) => outcome !== 'approximated' || note !== '');

const MODELS = [
  'openai/gpt-4o',
  'azure/mine',
  'anthropic/claude-haiku-4-5',
  'bedrock/x',
  'ollama/llama3:8b',
  'gpt-4o',
  'nobody/x',
  'groq/llama-3.1-8b',
  'openai/gpt-6-luna',
  'gemini/g-2025-01-01',
  'openai/*',
  7,
];
const NAMES = ['one', 'two', 'three', 'auto', 'a b', 'x/*', '*', 'Gpt-4'];
const word = fc.constantFrom<unknown>(
  ...NAMES,
  'os.environ/SOME_KEY',
  'os.environ/lower',
  '30d',
  'true',
  '',
  '-1',
  '2m',
);
const scalar = fc.oneof(
  word,
  fc.integer({ min: -5, max: 100_000 }),
  fc.double({ min: 0, max: 3, noNaN: true }),
  fc.boolean(),
  fc.constant(null),
);
const anything = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom('model', 'max_budget', 'hidden', 'x'), scalar, { maxKeys: 3 }),
);
const some = (keys: readonly string[], value: fc.Arbitrary<unknown> = anything) =>
  fc.record(Object.fromEntries(keys.map((key) => [key, value])), { requiredKeys: [] });

const params = fc
  .tuple(
    fc.constantFrom(...MODELS),
    some(
      [
        'api_key',
        'rpm',
        'tpm',
        'weight',
        'order',
        'max_parallel_requests',
        'timeout',
        'max_tokens',
        'max_budget',
        'budget_duration',
        'tags',
        'input_cost_per_token',
        'temperature',
      ],
      scalar,
    ),
    fc.constantFrom(
      '',
      '',
      '',
      'os.environ/BASE',
      'http://box:8000',
      'https://x.example.com/v1/',
      'not a url',
      'http://a:b@c/',
    ),
  )
  .map(([model, more, base]) => ({ model, ...more, ...(base !== '' && { api_base: base }) }));
const info = some([
  'id',
  'mode',
  'base_model',
  'max_tokens',
  'max_input_tokens',
  'output_cost_per_token',
  'access_groups',
  'supports_vision',
]);
const entry = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record(
      { model_name: fc.constantFrom(...NAMES), litellm_params: params, model_info: info },
      { requiredKeys: ['model_name', 'litellm_params'] },
    ),
  },
  { weight: 1, arbitrary: anything },
);
const nexts = fc.oneof(
  fc.array(
    fc.dictionary(fc.constantFrom(...NAMES), fc.array(fc.constantFrom(...NAMES), { maxLength: 3 }), { maxKeys: 2 }),
    { maxLength: 3 },
  ),
  anything,
);
const config = fc.record(
  {
    model_list: fc.oneof(
      { weight: 9, arbitrary: fc.array(entry, { maxLength: 5 }) },
      { weight: 1, arbitrary: anything },
    ),
    router_settings: fc.oneof(
      fc.record(
        {
          fallbacks: nexts,
          context_window_fallbacks: nexts,
          content_policy_fallbacks: nexts,
          default_max_parallel_requests: scalar,
          default_fallbacks: anything,
          model_group_alias: fc.dictionary(fc.constantFrom(...NAMES, 'alias'), anything, { maxKeys: 3 }),
          num_retries: scalar,
          timeout: scalar,
          routing_strategy: fc.oneof(scalar, fc.constantFrom('simple-shuffle', 'least-busy', 'cost-based-routing')),
          nobody_knows: anything,
        },
        { requiredKeys: [] },
      ),
      anything,
    ),
    litellm_settings: some([
      'max_budget',
      'budget_duration',
      'fallbacks',
      'tag_budget_config',
      'default_team_settings',
      'upperbound_key_generate_params',
      'callbacks',
      'default_internal_user_params',
      'nobody_knows',
    ]),
    general_settings: some(['master_key', 'database_url', 'global_max_parallel_requests', 'nobody_knows']),
    credential_list: fc.array(some(['credential_name', 'credential_values', 'credential_info']), { maxLength: 2 }),
    whatever: anything,
  },
  { requiredKeys: ['model_list'] },
);

describe('every key of a configuration', () => {
  const law = (report: (text: string) => Pick<ImportReport, 'keys'>) =>
    fc.property(config, (value) => {
      const text = stringify(value);
      return accountsForAll(text, report(text));
    });

  test('every key of a configuration is either mapped, approximated or left out, with its position and a reason', () => {
    for (const name of [...GOOD, 'broken-entries', 'broken-types']) {
      const text = configuration(name);
      expect([name, accountsForAll(text, imported(text).report)]).toEqual([name, true]);
    }
    fc.assert(
      law((text) => imported(text).report),
      { seed, numRuns: runs },
    );
  });

  test('the check fails if an importer omits a key or reports a key twice', () => {
    const mutants: readonly ((keys: ImportReport['keys']) => ImportReport['keys'])[] = [
      (keys) => keys.slice(1),
      (keys) => [...keys, ...keys.slice(0, 1)],
      (keys) => keys.map((key) => ({ ...key, note: '' })),
    ];
    for (const mutant of mutants) {
      const wrong = law((text) => ({ keys: mutant(imported(text).report.keys) }));
      expect(fc.check(wrong, { seed, numRuns: 3_000, endOnFailure: true }).failed).toBe(true);
    }
  });
});

test('every import yields a policy without errors, and its cases pass', async () => {
  const law = fc.asyncProperty(config, async (value) => {
    const { files } = imported(stringify(value));
    if (files.length > 0) expect(await errorsIn(files)).toEqual([]);
  });
  const one = { model_name: 'one', litellm_params: { model: 'openai/gpt-4o', max_budget: 1 } };
  const tiny = { model_list: [{ ...one, model_info: { max_input_tokens: 1 } }] };
  const misnamed = { model_list: [one], router_settings: { model_group_alias: { 'a b': 'one' } } };
  const capped = { model_list: [{ model_name: '*', litellm_params: { model: 'openai/*', max_tokens: 200_000 } }] };
  await fc.assert(law, { seed, numRuns: runs, examples: [[tiny], [misnamed], [capped]] });
  const { files } = imported(configuration('quickstart'));
  const wrong = files.map((file) => ({ ...file, text: file.text.replace(/(expect: \{ model: )/, '$1not-') }));
  expect(await errorsIn(wrong)).toHaveLength(1);
});

/** Returns everything that an import shows. */
const shown = (result: ImportResult): string => {
  const told = { file: 'config.yaml', folder: 'policies', others: [], imported: result };
  return [
    ...result.files.map(({ text }) => text),
    reportText(told),
    reportJson(told),
    JSON.stringify(result.report),
  ].join('\n');
};

const secret = fc.stringMatching(/^zq[a-z0-9]{22}$/);

/** A configuration with a secret in every place that can contain one. */
const withSecrets = (key: string, provider: string, damage: string): string => `
model_list:
  - model_name: one
    litellm_params:
      model: ${provider}/x
      api_key: ${key}
      api_base: https://user:${key}@llm.example.com/v1?key=${key}
      aws_secret_access_key: ${key}
      vertex_credentials: { private_key: "${key}" }
      extra_headers: { Authorization: "Bearer ${key}" }
  - model_name: two
    litellm_params: { model: openai/x, litellm_credential_name: shared }
  - { model_name: three, litellm_params: { model: openai/x, api_key: "os.envrion/${key}", organization: ${key} } }
  - { model_name: four, litellm_params: { model: ${key}/x, api_base: "${key}" } }
  - ${key}
credential_list:
  - { credential_name: shared, credential_values: { api_key: ${key} }, credential_info: { note: ${key} } }
environment_variables: { SOME_KEY: ${key} }
router_settings: { redis_password: ${key}, num_retries: ${key}, routing_strategy: ${key}, timeout: ${key} }
litellm_settings: { cache_params: { password: ${key} }, max_budget: ${key}, default_team_settings: ${key} }
general_settings: { master_key: ${key}, database_url: "postgresql://me:${key}@db/x" }
mcp_servers: { one: { authentication_token: ${key} } }
${damage}`;

describe('a secret in a configuration', () => {
  const law = (show: (text: string) => string) =>
    fc.property(
      secret,
      fc.constantFrom('openai', 'azure', 'hosted_vllm', 'bedrock'),
      fc.constantFrom('', 'x: "', '\tx: 1', 'a: b: c'),
      (key, provider, damage) => {
        const text = withSecrets(key, provider, damage && `${damage}${key}\n`);
        return !show(text).includes(key);
      },
    );
  const show = (text: string): string => {
    try {
      return shown(imported(text));
    } catch (error) {
      if (!(error instanceof NotYaml)) throw error;
      return error.message;
    }
  };

  test('a secret of the configuration appears in no file, report or error', () => {
    fc.assert(law(show), { seed, numRuns: runs });
  });

  test('the test would find secrets if an importer copied keys or quoted unreadable text', () => {
    const copies = (text: string) => show(text) + (/api_key: (\S+)/.exec(text)?.[1] ?? '');
    const quotes = (text: string) =>
      show(text) +
      parseDocument(text)
        .errors.map(({ message }) => message)
        .join();
    for (const mutant of [copies, quotes]) {
      expect(fc.check(law(mutant), { seed, numRuns: 3_000, endOnFailure: true }).failed).toBe(true);
    }
  });
});
