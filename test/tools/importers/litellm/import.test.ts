import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import { reportText } from '../../../../src/cli/import/report.ts';
import { configuration, errorsIn, GOOD, imported } from './support.ts';

/** The expected files and `report.txt` of each configuration. `UPDATE=1` rewrites them. */
const EXPECTED = join(import.meta.dir, 'expected');
/** Every variable contains both a key and an address. */

/** A configuration with one entry, and further sections. */
const PRICE = 'input_cost_per_token: 1e-6, output_cost_per_token: 1e-6';
const unpriced = (params: string, more = '') =>
  `model_list:\n  - model_name: one\n    litellm_params: { ${params} }\n${more}`;
const withModel = (params: string, more = '') =>
  unpriced(params.includes('_cost_per_token') ? params : `${params}, ${PRICE}`, more);
const fileOf = (text: string, name: string) => imported(text).files.find((file) => file.name === name)?.text ?? '';
const outcomeOf = (text: string, path: string) => imported(text).report.keys.find((key) => key.path === path);

describe('each of the configurations', () => {
  for (const name of [...GOOD, 'broken-entries']) {
    test(`the import of ${name} matches its expected files: formatted, without errors, and with passing cases`, async () => {
      const result = imported(configuration(name));
      const report = reportText({ file: `${name}.yaml`, folder: 'policies', others: [], imported: result });
      const files = [...result.files.map((file) => [file.name, file.text] as const), ['report.txt', report] as const];
      const folder = join(EXPECTED, name);
      if (process.env.UPDATE) {
        rmSync(folder, { recursive: true, force: true });
        mkdirSync(folder, { recursive: true });
        for (const [file, text] of files) writeFileSync(join(folder, file), text);
      }
      const names = existsSync(folder) ? readdirSync(folder) : [];
      expect(Object.fromEntries(files)).toEqual(
        Object.fromEntries(names.map((file) => [file, readFileSync(join(folder, file), 'utf8')])),
      );
      for (const { text } of result.files) expect(await format(text, { parser: 'yaml', printWidth: 120 })).toBe(text);
      expect(await errorsIn(result.files)).toEqual([]);
    });
  }

  test('an import reports mistakes with their positions, and imports the valid entries', () => {
    const { report } = imported(configuration('broken-entries'));
    expect(report.models).toEqual(['good-one', '4', 'limits-as-text', 'prices', 'typo-in-reference']);
    const places = report.problems.map(({ line, column }) => `${line}:${column}`);
    expect(places).toEqual(expect.arrayContaining(['15:5', '17:5', '32:7', '33:7', '39:7', '40:7', '50:7', '64:18']));
  });
});

test('the import converts teams and the terms of users, with the models that their names stand for', async () => {
  const params = 'model: openai/gpt-4o, input_cost_per_token: 1e-6, output_cost_per_token: 1e-6';
  const text = `model_list:
  - { model_name: big, litellm_params: { ${params} } }
router_settings: { model_group_alias: { best: big } }
litellm_settings:
  default_team_settings:
    - { team_id: Data Science, models: [best], rpm_limit: 60, max_budget: 5, budget_duration: 1d, langfuse_project: x }
    - { team_id: team_0mwu5is5xvpe4n3f3, models: [nobody], tpm_limit: 0 }
    - { max_budget: 5 }
  default_internal_user_params: { tpm_limit: 1000, user_role: proxy_admin }
`;
  const { files, report } = imported(text);
  expect(files.find(({ name }) => name === 'people.yaml')?.text.replace(/^#.*\n/gm, '')).toBe(`organization:
  # the terms of each user that has none of its own
  member_defaults:
    limits:
      tokens_per_minute: 1000

teams:
  - name: Data Science
    models: [big]
    limits:
      requests_per_minute: 60
    budgets:
      - limit_credits: 5000 # 5 USD
        window: day
  - name: team-0mwu5is5xvpe4n3f3
`);
  expect(await errorsIn(files)).toEqual([]);
  const outcomes = report.keys.filter(({ path }) => /team_settings.*(models|project)|user_role/.test(path));
  expect(outcomes.map(({ path, outcome }) => [path.split('.').at(-1), outcome])).toEqual([
    ['models[0]', 'mapped'],
    ['langfuse_project', 'left_out'],
    ['models[0]', 'left_out'],
    ['user_role', 'left_out'],
  ]);
  expect(report.problems.map(({ message }) => message)).toEqual([
    'it must be a whole number from 1',
    'it needs a team_id',
  ]);
});

test.each(['cohere/rerank-v3.5', 'whisper-1', 'openai/gpt-4o-mini-tts', 'dall-e-3'])(
  'the name %s alone implies that the model is not for chat, unless its mode says chat',
  (model) => {
    const { report } = imported(withModel(`model: ${model}`));
    expect([report.models, report.problems]).toEqual([[], []]);
    expect(report.keys.find(({ path }) => path === 'model_list[0].model_name')?.note).toMatch(
      /^one: Only entries for chat and embeddings are imported, but this entry is for/,
    );
    const priced = `model: openai/${model.replace(/^.*\//, '')}, input_cost_per_token: 1e-6, output_cost_per_token: 1e-6`;
    expect(imported(withModel(priced, '    model_info: { mode: chat }\n')).report.models).toEqual(['one']);
  },
);

describe('includes', () => {
  const entry = (name: string) => `  - { model_name: ${name}, litellm_params: { model: openai/${name}, ${PRICE} } }\n`;
  const main = `include: [more.yaml, gone.yaml, more.yaml, text.yaml]\nmodel_list:\n${entry('a')}litellm_settings: { num_retries: 1 }\n`;
  const files = {
    'more.yaml': `include: [deep.yaml]\nmodel_list:\n${entry('b')}`,
    'deep.yaml': `model_list:\n${entry('c')}  - { model_name: broken }\nlitellm_settings: { num_retries: 2 }\n`,
    'text.yaml': 'a: [',
  };

  test('included files are joined as LiteLLM joins them: lists are appended, and for other keys the later file wins', () => {
    const { files: made, report } = imported(main, new Map(), files);
    expect(report.models).toEqual(['a', 'b', 'c']);
    expect(made.map(({ text }) => text).join('')).toContain('retries_max: 2');
  });

  test('keys of included files are reported with their file name, and an unreadable file is a problem', () => {
    const result = imported(main, new Map(), files);
    const told = reportText({ file: 'config.yaml', folder: 'p', others: [], imported: result });
    expect(told).toContain('config.yaml:1:22 include[1]: the file does not exist or cannot be read');
    expect(told).toMatch(/config\.yaml:1:44 include\[3\]: .* \(line 1\)/);
    expect(told).toContain('deep.yaml:3:7 model_list[1]');
    expect(told).toContain('a later key of the same name replaces it');
    const places = result.report.keys.map(({ included, path }) => `${included ?? ''} ${path}`);
    expect(places).toContain('more.yaml model_list[0].litellm_params.model');
  });
});

describe('money', () => {
  test('the import keeps every digit of a price: USD per token become USD per 1M', () => {
    const prices = 'input_cost_per_token: 1.1e-7, output_cost_per_token: 0.00000033';
    expect(fileOf(withModel(`model: openai/x, ${prices}`), 'models.yaml')).toContain(
      'price: { input: 0.11, output: 0.33, as_of: 2026-11-20, basis: own }',
    );
  });

  test('the import never guesses a price: an unknown price is a question in the report and in the entry', async () => {
    const known = '  - { model_name: two, litellm_params: { model: openai/gpt-4o } }\n';
    for (const half of ['', ', input_cost_per_token: 1e-6']) {
      const result = imported(unpriced(`model: openai/nova${half}`, known));
      const asked = [...result.report.questions].map(([name, what]) => [name, ...what]);
      expect(asked).toEqual([['one', 'its price, in USD per 1M tokens']]);
      const models = result.files.find(({ name }) => name === 'models.yaml')?.text ?? '';
      expect(models).toContain(
        '  # one:\n  #   provider: openai\n  #   upstream: nova\n  #   price: { input: ?, output: ? }\n',
      );
      expect(models).not.toMatch(/^ {2}one:|999/m);
      const told = reportText({ file: 'c.yaml', folder: 'p', others: [], imported: result });
      expect(told.split('\n\n')[1]).toBe(
        'Questions: not served until you state\n  one: its price, in USD per 1M tokens',
      );
      expect(await errorsIn(result.files)).toEqual([]);
    }
  });

  test('the import takes prices from LiteLLM’s price map or the catalog', () => {
    const map = new Map([
      [
        'x',
        {
          input_cost_per_token: 2.5e-6,
          output_cost_per_token: 0.00001,
          max_input_tokens: 128_000,
          supports_vision: true,
        },
      ],
    ]);
    const { files, report } = imported(unpriced('model: openai/x'), map);
    const models = files.find(({ name }) => name === 'models.yaml')?.text;
    expect(models).toContain('price: { input: 2.5, output: 10, basis: aggregator }');
    expect(models).toContain('context_window: 128000\n');
    expect(models).toContain('capabilities: [vision]');
    expect(report.questions.size).toBe(0);
    const known = fileOf(unpriced('model: anthropic/claude-haiku-4-5-20251001'), 'models.yaml');
    expect(known).toContain('input: 1.00, cached_input: 0.10, cache_write: 1.25, output: 5.00, as_of: 2026-10-07');
  });

  test('the import converts a budget to the same amount of Credits, and its window never allows more spend at a time', () => {
    const budget = (duration: string) =>
      fileOf(withModel('model: openai/gpt-4o', `litellm_settings: { max_budget: 12.5${duration} }`), 'limits.yaml');
    expect(budget('')).toContain('limit_credits: 12500 # 12.5 USD\n    window: total');
    expect(budget(', budget_duration: 1h')).toContain('window: day');
    expect(budget(', budget_duration: 7d')).toContain('window: week');
    expect(budget(', budget_duration: 1mo')).toContain('window: month');
    expect(budget(', budget_duration: 60d')).toContain('limit_credits: 6250 # 12.5 USD\n    window: month');
  });
});

describe('names', () => {
  test('groups with names of built-in selectors become selectors of the configured models', async () => {
    const text = 'model_list:\n  - { model_name: auto, litellm_params: { model: openai/gpt-4o } }\n';
    expect(imported(text).report).toMatchObject({ models: ['gpt-4o'], selectors: ['auto'] });
    expect(await errorsIn(imported(text).files)).toEqual([]);
  });

  test('a name shared by two different models becomes a selector of both', async () => {
    const one = (model: string) => `  - { model_name: smart, litellm_params: { model: ${model} } }\n`;
    const text = `model_list:\n${one('openai/gpt-6-luna')}${one('anthropic/claude-haiku-4-5')}router_settings: { routing_strategy: cost-based-routing }\n`;
    expect(imported(text).report.models).toEqual(['gpt-6-luna', 'claude-haiku-4-5']);
    expect(fileOf(text, 'signalbox.yaml')).toContain('strategy: auto-cheap');
    expect(await errorsIn(imported(text).files)).toEqual([]);
  });
});

describe('shares and fallbacks', () => {
  const entry = (name: string, params: string) =>
    `  - { model_name: ${name}, litellm_params: { ${params}, ${PRICE} } }\n`;
  const twice = (more: readonly [string, string] = ['', '']) =>
    more.map((one, at) => entry('one', `model: openai/gpt-4o, api_key: os.environ/KEY_${at}${one}`)).join('');

  test.each([
    ['', 'weighted'],
    ['routing_strategy: simple-shuffle', 'weighted'],
    ['routing_strategy: least-busy', 'least_busy'],
    ['routing_strategy: latency-based-routing', 'fastest'],
    ['routing_strategy: cost-based-routing', 'cheapest'],
    ['routing_strategy: usage-based-routing-v2', 'least_busy'],
  ])('the router setting "%s" spreads requests in the mode %s', async (setting, spread) => {
    const { files, report } = imported(`model_list:\n${twice()}router_settings: { ${setting} }\n`);
    expect(files.find(({ name }) => name === 'models.yaml')?.text).toContain(`    spread: ${spread}\n`);
    expect([report.problems, await errorsIn(files)]).toEqual([[], []]);
  });

  test('weights are read as LiteLLM reads them, and the report says why others are left out', () => {
    const text = (more: readonly [string, string], strategy = 'simple-shuffle') =>
      `model_list:\n${twice(more)}router_settings: { routing_strategy: ${strategy} }\n`;
    const weightsIn = (made: string) =>
      [...fileOf(made, 'models.yaml').matchAll(/weight: ([\d.]+)/g)].map(([, one]) => one);
    expect(weightsIn(text([', weight: 3', '']))).toEqual(['3', '0']);
    expect(weightsIn(text(['', ', weight: 3']))).toEqual([]);
    expect(weightsIn(text([', tpm: 30000000', ', tpm: 10000000']))).toEqual(['300000', '100000']);
    const busy = text([', weight: 3', ', weight: 1'], 'least-busy');
    expect(weightsIn(busy)).toEqual([]);
    expect(outcomeOf(busy, 'model_list[0].litellm_params.weight')?.outcome).toBe('left_out');
    expect(fileOf(busy, 'models.yaml')).not.toContain('weight');
  });

  test('limits belong to the deployment that states them, and the general one to all that state none', async () => {
    const limits = 'rpm: 60, tpm: 9000.7, max_parallel_requests: 4';
    const setting = 'router_settings: { default_max_parallel_requests: 9 }\n';
    const text = `model_list:\n${entry('one', `model: openai/gpt-4o, ${limits}`)}${entry('two', 'model: openai/gpt-4.1')}${entry('three', 'model: openai/o3, rpm: 0')}${setting}`;
    const models = fileOf(text, 'models.yaml');
    expect(models).toContain('limits: { requests_per_minute: 60, tokens_per_minute: 9000, concurrent_requests: 4 }');
    expect(models).toContain('{ provider: openai, upstream: gpt-4.1, limits: { concurrent_requests: 9 } }');
    expect(outcomeOf(text, 'model_list[2].litellm_params.rpm')?.outcome).toBe('left_out');
    expect(await errorsIn(imported(text).files)).toEqual([]);
  });

  test('a name with different models chooses among those with the lowest order, then tries the others and its fallbacks', async () => {
    const models = ['gpt-4o, order: 2', 'gpt-4.1', 'o3, order: 1, weight: 4', 'o4-mini, order: 1'];
    const text = `model_list:\n${models.map((one) => entry('smart', `model: openai/${one}`)).join('')}${entry('last', 'model: openai/gpt-4')}router_settings: { fallbacks: [{ smart: [last] }], content_policy_fallbacks: [{ smart: [last] }], model_group_alias: { clever: smart } }\n`;
    expect(fileOf(text, 'signalbox.yaml')).toContain(`  smart:
    strategy: auto
    aliases: [clever]
    models: { require: 'model.id in ["o3", "o4-mini"]' }
    fallbacks:
      error: [o3, o4-mini, gpt-4o, gpt-4.1, last]
      rate_limit: [o3, o4-mini, gpt-4o, gpt-4.1, last]
      context: [o3, o4-mini, gpt-4o, gpt-4.1, last]
      refused: [last]
`);
    expect(fileOf(text, 'models.yaml')).not.toMatch(/priority|weight/);
    expect(outcomeOf(text, 'model_list[2].litellm_params.weight')?.outcome).toBe('left_out');
    expect(await errorsIn(imported(text).files)).toEqual([]);
  });

  test('a name without its own list of fallbacks for long prompts has none if another name has one, as in LiteLLM', () => {
    const names = ['a', 'b', 'c'].map((name) => entry(name, 'model: openai/gpt-4o')).join('');
    const lists = (more: string) => fileOf(`model_list:\n${names}router_settings: { ${more} }\n`, 'models.yaml');
    expect(lists('fallbacks: [{ a: [b, c] }]')).toContain('    fallbacks: [b, c]\n');
    expect(lists('fallbacks: [{ a: [b, c] }], context_window_fallbacks: [{ b: [c] }]')).toContain(
      '    fallbacks: { error: [b, c], rate_limit: [b, c] }\n',
    );
    expect(lists('fallbacks: [{ a: [b] }, { b: [c, a] }]')).toContain('    fallbacks: [b, c]\n');
  });
});

describe('keys and addresses', () => {
  const entry = (name: string, params: string) =>
    `  - { model_name: ${name}, litellm_params: { ${params}, ${PRICE} } }\n`;
  const asked = (text: string) =>
    [...fileOf(text, 'providers.yaml').matchAll(/(?:key|url)_env: (\w+)/g)].map(([, name]) => name);

  test('keys of two servers never share a variable, and never use a variable that the configuration refers to', () => {
    const keys = [
      entry('a', 'model: openai/a, api_base: "http://gpu:8001/v1", api_key: first'),
      entry('b', 'model: openai/b, api_base: "http://gpu:8002/v1", api_key: second'),
      entry('c', 'model: openai/c, api_base: "http://gpu:8003/v1", api_key: first'),
      entry('d', 'model: openai/d, api_key: third'),
      entry('e', 'model: openai/e, api_key: os.environ/OPENAI_API_KEY'),
    ];
    const text = `model_list:\n${keys.join('')}`;
    expect(asked(text)).toEqual(['GPU_API_KEY', 'GPU_API_KEY_2', 'GPU_API_KEY', 'OPENAI_API_KEY_2']);
    const { variables } = imported(text).report;
    expect([...variables.keys()].sort()).toEqual([
      'GPU_API_KEY',
      'GPU_API_KEY_2',
      'OPENAI_API_KEY',
      'OPENAI_API_KEY_2',
    ]);
  });

  test('imported addresses lead to the same requests as with LiteLLM: the policy states the version of Anthropic’s API', () => {
    const baseOf = (base: string) =>
      /base_url: (\S+?),? /.exec(fileOf(withModel(`model: anthropic/x, api_base: "${base}"`), 'providers.yaml'))?.[1];
    expect(baseOf('https://claude.example.com')).toBe('https://claude.example.com/v1');
    expect(baseOf('https://gw.example.com/anthropic/')).toBe('https://gw.example.com/anthropic/v1');
    expect(baseOf('https://gw.example.com/v1/messages')).toBe('https://gw.example.com/v1');
  });

  test('servers on a private network are allowed, and cost the same as their service', () => {
    const text = unpriced(
      'model: anthropic/x, api_base: "http://claude-proxy:4000"',
      '  - { model_name: two, litellm_params: { model: anthropic/claude-haiku-4-5, api_base: "http://claude-proxy:4000" } }\n',
    );
    expect(fileOf(text, 'providers.yaml')).toContain('allow_private_network: true');
    expect([...imported(text).report.questions.keys()]).toEqual(['one']);
    const unknown = withModel('model: openai/gpt-4o, api_base: os.environ/BASE');
    expect(fileOf(unknown, 'providers.yaml')).toContain('# BASE: where it is a name within a private network');
  });

  test('servers with an IP address get a variable with a valid name, and random path segments are not copied', () => {
    const secret = '0a1b2c3d4e5f60718293a4b5c6d7e8f9';
    const text = `model_list:\n${[
      entry('a', 'model: openai/a, api_base: "http://127.0.0.1:8001/v1", api_key: first'),
      entry('b', 'model: openai/b, api_base: "http://[::1]:8001/v1", api_key: second'),
      entry('c', `model: openai/c, api_base: "https://gw.example.com/${secret}/v1", api_key: none`),
    ].join('')}`;
    expect(asked(text)).toEqual(['SERVER_127_0_0_1_API_KEY', 'SERVER_1_API_KEY', 'OPENAI_BASE_URL']);
    expect(JSON.stringify(imported(text))).not.toContain(secret);
  });

  test.each([
    ['acct-7f3a9c/v1', false],
    ['v1/3f2a-9c1b-77de/openai', false],
    ['k9x2m4q8', false],
    ['gateway/QwErTyUiOp', false],
    ['12345678/v1', false],
    ['v1beta2/openai/eu-west-1', true],
    ['openai/deployments/gpt-4o-mini/v1', true],
    ['team7/Chat_API', true],
  ])('imported addresses keep a path that consists of words: %s', (path, isCopied) => {
    const made = fileOf(
      withModel(`model: openai/gpt-4o, api_base: "https://gw.example.com/${path}"`),
      'providers.yaml',
    );
    expect(made.includes(path)).toBe(isCopied);
    expect(made.includes('base_url_env: OPENAI_BASE_URL')).toBe(!isCopied);
  });

  test('addresses that are not copied get one variable for each distinct address', () => {
    const at = (name: string) =>
      `model: azure/x, api_base: "https://${name}.openai.azure.com/?v=1", api_key: os.environ/K`;
    const text = `model_list:\n${entry('a', at('one'))}${entry('a', at('two'))}`;
    expect(asked(text).filter((name) => name !== 'K')).toEqual(['AZURE_BASE_URL', 'AZURE_BASE_URL_2']);
  });
});

describe('LiteLLM’s rules:', () => {
  const upstream = (params: string) => /upstream: (.*)/.exec(fileOf(withModel(params), 'models.yaml'))?.[1];

  test('the provider may precede a model name in addition to custom_llm_provider, and an API prefix is not part of the name', () => {
    expect(upstream('model: openai/gpt-x, custom_llm_provider: openai')).toBe('gpt-x');
    expect(upstream('model: meta-llama/x, custom_llm_provider: openai')).toBe('meta-llama/x');
    expect(upstream('model: openai/responses/gpt-x')).toBe('gpt-x');
    expect(upstream('model: azure/o_series/prod, api_base: "https://r.openai.azure.com"')).toBe('prod');
  });

  test('a global budget of 0 means none, and a region is kept', () => {
    const text = withModel(
      'model: openai/gpt-4o, region_name: eu',
      'litellm_settings: { max_budget: 0, budget_duration: 1d }\n',
    );
    expect(fileOf(text, 'limits.yaml')).toBe('');
    expect(fileOf(text, 'models.yaml')).toContain('regions: [eu]');
  });

  test('the report names each key without an equivalent', () => {
    const strange = ['one', 'two', 'three', 'four', 'five'].map((name) => `${name}_budget`);
    const more = `general_settings: { ${strange.map((name) => `${name}: 1`).join(', ')} }\n`;
    const params = 'model: openai/gpt-4o, temperature: 0.1, stop: [a], seed: 1, top_p: 1';
    const report = reportText({ file: 'c', folder: 'p', others: [], imported: imported(withModel(params, more)) });
    expect(report).toContain(`general_settings.{${strange.join(', ')}} (`);
    expect(report).toContain('{temperature, stop, seed, top_p} (');
  });
});

describe('YAML anchors', () => {
  test('keys of an anchor are reported once, and apply wherever the anchor is used', () => {
    const text = `x-all: &all { timeout: 7 }\n${withModel('<<: *all, model: openai/gpt-4o')}`;
    expect(outcomeOf(text, 'x-all.timeout')).toMatchObject({
      outcome: 'approximated',
      to: ['models', 'one', 'deadlines', 'total_ms'],
    });
    expect(fileOf(text, 'models.yaml')).toContain('deadlines: { total_ms: 7000 }');
  });
});

test('an invalid variable name after os.environ/ is reported and never copied, in upper or lower case', () => {
  for (const pasted of ['sk-proj-abcdefGHIJKL123456789', 'AKIAABCDEFGHIJKLMNOP']) {
    const made = imported(
      `model_list: [{ model_name: a, litellm_params: { model: openai/gpt-6-luna, api_key: os.environ/${pasted} } }]`,
    );
    const all = JSON.stringify([made, [...made.report.variables]])
      .toLowerCase()
      .replaceAll('_', '-');
    expect(all).not.toContain(pasted.toLowerCase());
    expect(made.report.problems[0]?.message).toContain('no name of a variable');
  }
});

test('nested lists after a merge key do not take exponential time', () => {
  const lists = Array.from(
    { length: 30 },
    (_, i) => `b${i + 1}: &b${i + 1} [${'*b'.concat(String(i), ',').repeat(9)}]`,
  );
  const { report } = imported(
    `b0: &b0 [x]\n${lists.join('\n')}\nm: { <<: *b30 }\nmodel_list: [{ model_name: a, litellm_params: { model: openai/gpt-6-luna } }]`,
  );
  expect(report.models).toEqual(['a']);
});
