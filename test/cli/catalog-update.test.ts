import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runHere } from '../support/run-here.ts';
import { temporaryFolder, writePolicy } from '../support/signalbox.ts';

/** Tests `signalbox catalog update --from` with three small lists in the forms of models.dev, genai-prices and LiteLLM. */
const scratch = temporaryFolder();
const at = (...parts: string[]) => join(scratch, ...parts);

function write(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const toml = (cost: string, more = '', input = '"text", "image"', output = '"text"') => `
name = "A model"
release_date = "2026-01-02"
reasoning = true
temperature = false
tool_call = true
structured_output = true
${more}
[cost]
${cost}
[limit]
context = 100_000
output = 200_000
[modalities]
input = [${input}]
output = [${output}]
`;
const PRICED = 'input = 1\noutput = 2';
const CLONE: Readonly<Record<string, string>> = {
  'models/openai/base.toml': toml(PRICED).replace(/\[cost\]\n.*\n.*\n/, ''),
  'providers/openai/provider.toml': 'name = "OpenAI"',
  'providers/openai/models/nova-a.toml': toml('input = 0.5\noutput = 2\ncache_read = 0.05\ncache_write = 0'),
  'providers/openai/models/nova-loud.toml': toml(`${PRICED}\ninput_audio = 9`, '', '"text", "audio"'),
  'providers/openai/models/nova-tiered.toml': toml(
    `${PRICED}\n[[cost.tiers]]\ntier = { size = 200_000 }\ninput = 2\noutput = 4`,
  ),
  'providers/openai/models/nova-old.toml': toml(PRICED, 'status = "deprecated"'),
  'providers/openai/models/nova-free.toml': toml('input = 0\noutput = 0'),
  'providers/openai/models/nova-painter.toml': toml(PRICED, '', '"text"', '"text", "image"'),
  'providers/openai/models/nova-latest.toml': toml(PRICED),
  'providers/openai/models/nova-thinks.toml': toml(`${PRICED}\nreasoning = 3`),
  'providers/openrouter/models/openai/heir.toml':
    'base_model = "openai/base"\nbase_model_omit = ["release_date"]\n[cost]\ninput = 3\noutput = 4\n[limit]\noutput = 1_000\n',
  'providers/openrouter/models/openai/heir:free.toml': toml(PRICED),
  'providers/nobody/models/b.toml': toml(PRICED),
};

/** As a bundler writes the package: keys without quotes, `!0` and `!1`, and code after the list. */
const GENAI = `const E = [
  {
    id: "openai", name: 'OpenAI\\'s', api_pattern: "https://x/[a-z]{2}", models: [
      { id: "nova-a", match: { or: [{ equals: "nova-a" }, { equals: "nova-a-first" }] }, context_window: 1e5,
        prices: [
          { prices: { input_mtok: 9, output_mtok: 9 } },
          { constraint: { start_date: "2026-06-01", type: "start_date" }, prices: { input_mtok: 0.7, output_mtok: 2.5 } },
          { constraint: { start_date: "2027-01-01", type: "start_date" }, prices: { input_mtok: 8, output_mtok: 8 } }
        ] },
      { id: "nova-tiered", match: { equals: "nova-tiered" }, deprecated: !1, prices: {
        input_mtok: { base: 1, tiers: [{ start: 199999, price: 2 }] }, output_mtok: { base: 2, tiers: [{ start: 199999, price: 4 }] } } },
      { id: "nova-rising", prices: [
        { prices: { input_mtok: 1, output_mtok: 2 } },
        { constraint: { start_date: "2026-12-01" }, prices: { input_mtok: 2, output_mtok: 4 } }
      ] },
      { id: "openai-heir", match: { equals: "heir" }, prices: { input_mtok: 3, output_mtok: 4 } }
    ]
  },
  {
    id: "deepseek", models: [
      { id: "nova-night", match: { equals: "nova-night" }, prices: [
        { prices: { input_mtok: 0.4, output_mtok: 0.8 } },
        { constraint: { start_time: "00:30:00Z", end_time: "16:30:00Z", type: "time_of_date" }, prices: { input_mtok: 0.2, output_mtok: 0.4 } }
      ] }
    ]
  }
], J = { a: throwing() };
export { E as data };
`;

const chat = (provider: string, input: number, output: number, more: object = {}) => ({
  ...{ litellm_provider: provider, mode: 'chat', source: 'https://example.com/prices' },
  ...{ input_cost_per_token: input, output_cost_per_token: output },
  ...{ max_input_tokens: 90_000, max_output_tokens: 4_096, supports_function_calling: true },
  ...more,
});
const LITELLM = {
  sample_spec: { litellm_provider: 'one of the services' },
  'nova-a': chat('openai', 6e-7, 2.4e-6, {
    cache_read_input_token_cost: 6e-8,
    cache_creation_input_token_cost_above_1hr: 1.2e-6,
  }),
  'nova-secret': chat('openai', 0, 0),
  'nova-tiered': chat('openai', 1e-6, 2e-6, { deprecation_date: '2026-12-31' }),
  'nova-new': chat('openai', 1.25e-7, 5e-7, {
    supports_reasoning: true,
    input_cost_per_token_above_200k_tokens: 2.5e-7,
    output_cost_per_token_above_200k_tokens: 1e-6,
    input_cost_per_token_above_200k_tokens_priority: 9e-7,
  }),
  'nova-new-2026-11-01': chat('openai', 1.25e-7, 5e-7, {
    supports_reasoning: true,
    input_cost_per_token_above_200k_tokens: 2.5e-7,
    output_cost_per_token_above_200k_tokens: 1e-6,
  }),
  'nova-rising': chat('openai', 1e-6, 2e-6),
  'nova-unsourced': chat('openai', 1e-6, 1e-6, { source: '' }),
  'nova-talks': chat('openai', 1e-6, 1e-6, { supports_audio_output: true }),
  'gpt-4o-mini': chat('openai', 2e-7, 8e-7),
  'gpt-4.1-nano': chat('openai', 1e-7, 4e-7, { deprecation_date: '2026-10-23' }),
  'nova-gone': chat('openai', 1e-7, 4e-7, { deprecation_date: '2026-10-23' }),
  'embed-a': chat('openai', 3e-8, 0, { mode: 'embedding' }),
  'together_ai/house/nova-hosted': chat('together_ai', 1e-6, 1e-6),
  'azure/nova-a': chat('azure', 1, 1),
};

const POLICY = `version: 1
credits: { usd_per_credit: 0.001 }
providers:
  openai: { preset: openai }
  azure-openai: { preset: azure-openai }
  deepseek: { preset: deepseek }
models:
  a:
    endpoints:
      - { provider: openai, upstream: nova-a }
      - { provider: azure-openai, upstream: my-nova }
    # someone/models.dev 0123abcd; kept
    price:
      input: 0.50 # a remark
      output: 2.00
      as_of: 2026-07-01
      basis: aggregator
    context_window: 128000
    max_output: 8000
    quality: { default: 0.7, basis: guessed }
  tiered:
    provider: openai
    upstream: nova-tiered
    price: { input: 1, output: 2, as_of: 2026-05-01 }
    context_window: 100000
    max_output: 4096
    quality: { default: 0.7, basis: guessed }
  night:
    provider: deepseek
    upstream: nova-night
    price: { input: 0.4, output: 0.8, as_of: 2026-11-25, basis: aggregator }
    context_window: 100000
    max_output: 4096
    quality: { default: 0.7, basis: guessed }
  contract:
    provider: openai
    upstream: nova-a-first
    price: { input: 0.1, output: 0.2, as_of: 2026-05-01, basis: own }
    context_window: 90000
    max_output: 4096
    quality: { default: 0.7, basis: guessed }
  secret:
    provider: openai
    upstream: nova-secret
    price: { input: 1, output: 2, as_of: 2026-05-01, basis: aggregator }
    context_window: 90000
    max_output: 4096
    quality: { default: 0.7, basis: guessed }
`;
const ENV = {
  OPENAI_API_KEY: 'k',
  DEEPSEEK_API_KEY: 'k',
  AZURE_OPENAI_API_KEY: 'k',
  AZURE_OPENAI_BASE_URL: 'http://127.0.0.1:9',
};
const NOW = Date.parse('2026-11-30T12:00:00Z');
const folder = writePolicy({ 'policy.yaml': POLICY });
const [clone, genai, litellm] = [at('models.dev'), at('package'), at('prices.json')];
const FROM = ['--from', clone, '--from', `${genai}=2026-11-10`, '--from', `${litellm}=2026-11-20`];
const run = (...args: string[]) => runHere(['catalog', 'update', '--policies', folder, ...args], ENV, '', () => NOW);

beforeAll(() => {
  for (const [path, text] of Object.entries(CLONE)) write(join(clone, path), text);
  const git = (...args: string[]) => {
    const env = { ...process.env, GIT_COMMITTER_DATE: '2026-10-04T23:30:00-05:00' };
    const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
    expect(Bun.spawnSync(['git', '-C', clone, ...who, ...args], { env }).exitCode).toBe(0);
  };
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'models');
  write(join(genai, 'package.json'), '{ "name": "@pydantic/genai-prices", "version": "1.2.3" }');
  write(join(genai, 'dist', 'index.js'), GENAI);
  write(litellm, JSON.stringify(LITELLM));
});
afterAll(() => {
  for (const one of [folder, scratch]) rmSync(one, { recursive: true, force: true });
});

interface Body {
  readonly lists: readonly { readonly name: string; readonly revision: string; readonly as_of: string }[];
  readonly models: readonly (Readonly<Record<string, unknown>> & { readonly model: string })[];
  readonly table: {
    readonly added: readonly string[];
    readonly left: readonly { readonly model: string; readonly reason: string }[];
  };
  readonly diff: string;
}

async function bodyOf(...args: string[]): Promise<Body> {
  const { out, err } = await run(...args, '--json');
  expect(err).toBe('');
  return JSON.parse(out) as Body;
}

describe('catalog update compares a policy with public lists:', () => {
  test('a changed price has its fields, its source and its day, and the newest list counts', async () => {
    const { lists, models } = await bodyOf(...FROM);
    expect(lists.map((one) => [one.name, one.as_of])).toEqual([
      ['BerriAI/litellm', '2026-11-20'],
      ['pydantic/genai-prices', '2026-11-10'],
      ['anomalyco/models.dev', '2026-10-05'],
    ]);
    const [first] = models;
    expect(first).toMatchObject({
      ...{
        model: 'a',
        provider: 'openai',
        upstream: 'nova-a',
        place: 'policy.yaml:13',
        as_of: '2026-11-20',
        kept: null,
      },
      changes: [
        { field: 'price.input', old: 0.5, new: 0.6 },
        { field: 'price.cached_input', old: 0.5, new: 0.06 },
        { field: 'price.cache_write_1h', old: null, new: 1.2 },
        { field: 'price.output', old: 2, new: 2.4 },
      ],
      limits: [
        { field: 'context_window', old: 128_000, new: 90_000 },
        { field: 'max_output', old: 8_000, new: 4_096 },
      ],
    });
    expect(first?.disagreements).toContainEqual({
      field: 'price.input',
      values: {
        [`BerriAI/litellm@${lists[0]?.revision.slice(0, 8)}`]: 0.6,
        'pydantic/genai-prices@1.2.3': 0.7,
        [`anomalyco/models.dev@${lists[2]?.revision.slice(0, 8)}`]: 0.5,
      },
    });
  });

  test('genai-prices is also read from the JSON of its repository', async () => {
    const prices = { input_mtok: 0.9, cache_read_mtok: 0.09, output_mtok: 3 };
    const data = [{ id: 'openai', models: [{ id: 'nova-a', match: { equals: 'nova-a' }, prices }] }];
    const { lists, models } = await bodyOf('--from', `${write(at('data.json'), JSON.stringify(data))}=2026-11-10`);
    expect(lists).toMatchObject([{ name: 'pydantic/genai-prices', as_of: '2026-11-10' }]);
    expect(models[0]?.changes).toEqual([
      { field: 'price.input', old: 0.5, new: 0.9 },
      { field: 'price.cached_input', old: 0.5, new: 0.09 },
      { field: 'price.output', old: 2, new: 3 },
    ]);
  });

  test('tiers that the newest list leaves out come from a list with the same price, and a model that ends is named with its day', async () => {
    const tiered = (await bodyOf(...FROM)).models.find(({ model }) => model === 'tiered');
    expect(tiered).toMatchObject({
      ending: [{ provider: 'openai', upstream: 'nova-tiered', ends: '2026-12-31' }],
      changes: [
        { field: 'price.tiers.200000.input', old: null, new: 2 },
        { field: 'price.tiers.200000.output', old: null, new: 4 },
      ],
      disagreements: [],
    });
  });

  test('own prices, newer prices and unknown models stay', async () => {
    const kept = new Map(
      (await bodyOf(...FROM)).models.map(({ model, kept: why, changes }) => [model, [why, changes]]),
    );
    expect(kept.get('night')).toEqual(['the policy is newer than the lists', []]);
    expect(kept.get('contract')?.[0]).toBe('the price is your own');
    expect(kept.get('secret')).toEqual(['no list has the model', []]);
  });

  test('the report says what an operator has to decide, and the exit code is 2 while a price differs', async () => {
    const { code, out } = await run(...FROM);
    expect(code).toBe(2);
    expect(out).toMatch(/policy\.yaml:13 +a +price\.input +0\.5 +0\.6 +BerriAI\/litellm@/);
    expect(out).toMatch(/tiered +openai +2026-12-31/);
    expect(out).toMatch(/openai +.*nova-new/);
    expect(out).toMatch(/secret +no list has the model/);
    expect(out).not.toContain('contract');
  });
});

describe('catalog update writes a patch and applies nothing:', () => {
  test('git applies the patch, which keeps all other characters, and then no price differs', async () => {
    const out = at('renewed');
    const { out: text } = await run(...FROM, '--write', out);
    expect(text).toContain('Nothing is applied.');
    expect(readFileSync(join(folder, 'policy.yaml'), 'utf8')).toBe(POLICY);
    const patched = writePolicy({ 'policy.yaml': POLICY });
    const { exitCode, stderr } = Bun.spawnSync(['git', 'apply', join(out, 'policy.diff')], { cwd: patched });
    expect([exitCode, stderr.toString()]).toEqual([0, '']);
    const applied = readFileSync(join(patched, 'policy.yaml'), 'utf8');
    expect(applied).toMatch(/ {4}# BerriAI\/litellm [0-9a-f]{8}; kept\n/);
    expect(applied).toContain('      input: 0.60 # a remark\n');
    expect(applied).toContain('      output: 2.40\n      as_of: 2026-11-20\n');
    const again = await runHere(['catalog', 'update', '--policies', patched, ...FROM, '--json'], ENV, '', () => NOW);
    const models = (JSON.parse(again.out) as Body).models.filter(({ kept }) => kept === null);
    expect(models.map(({ model, changes }) => [model, changes])).toEqual([
      ['a', []],
      ['tiered', []],
    ]);
    // New models are complete entries.
    writeFileSync(join(patched, 'new.yaml'), readFileSync(join(out, 'openai.yaml'), 'utf8'));
    expect((await runHere(['policy', 'check', patched], ENV, '', () => NOW)).code).toBe(0);
    expect((await run(...FROM, '--write', out)).err).toContain('already exists. Name another folder.');
    rmSync(patched, { recursive: true, force: true });
  });

  test('the table has what can be billed and converses, from lists that name their source or agree', async () => {
    const out = at('table');
    await run(...FROM, '--write', out);
    const { models, sources, licence } = JSON.parse(readFileSync(join(out, 'facts.json'), 'utf8'));
    const names = Object.keys(models.openai).filter((name) => name.startsWith('nova'));
    expect(names).toEqual(['nova-a', 'nova-loud', 'nova-new', 'nova-rising', 'nova-tiered']);
    expect(models.openai['nova-rising'].price).toEqual({
      ...{ input: 1, output: 2, until: '2026-12-01' },
      later: [{ input: 2, output: 4, tiers: [], hours: [] }],
    });
    expect(models.openai['nova-a']).toMatchObject({
      price: { input: 0.6, cached_input: 0.06, cache_write_1h: 1.2, output: 2.4 },
      ...{ context_window: 90_000, max_output: 4_096, capabilities: ['tools'] },
    });
    expect(models.openai['nova-new']).toMatchObject({
      price: { input: 0.125, output: 0.5, tiers: [{ over_input_tokens: 200_000, input: 0.25, output: 1 }] },
      temperature: false,
    });
    // Audio that costs more than text is left out.
    expect(models.openai['nova-loud'].capabilities).toEqual(['tools', 'json_schema', 'reasoning']);
    expect(sources[models.openai['nova-loud'].source]).toMatchObject({
      name: 'anomalyco/models.dev',
      as_of: '2026-10-05',
    });
    expect(models.openrouter['openai/heir']).toBeUndefined();
    expect(models.together['house/nova-hosted']).toBeUndefined();
    expect(licence).toContain('shall be included in all copies');
    expect(sources[models.openai['nova-a'].source ?? 0]).toMatchObject({
      as_of: '2026-11-20',
      copyright: 'Copyright (c) 2023 Berri AI',
    });
  });

  test('a row gets the newest price and keeps its limits; a model that was shut down, or that no recent list has, leaves', async () => {
    const out = at('rows');
    const { table } = await bodyOf(...FROM, '--write', out);
    const { models } = JSON.parse(readFileSync(join(out, 'facts.json'), 'utf8'));
    expect(models.openai['gpt-4o-mini']).toMatchObject({ price: { input: 0.2, output: 0.8 }, context_window: 128_000 });
    expect(models.openai['nova-gone']).toBeUndefined();
    expect(table.added).toContain('openai/nova-new');
    expect(table.added).not.toContain('openai/nova-new-2026-11-01');

    // Two months after the lists of the table, only the models of a newer list are left.
    const newer = write(at('newer.json'), JSON.stringify({ 'gpt-4o': chat('openai', 2e-6, 8e-6) }));
    const args = ['--policies', folder, '--from', `${newer}=2027-03-01`, '--write', at('later'), '--json'];
    const later = await runHere(['catalog', 'update', ...args], ENV, '', () => Date.parse('2027-03-02'));
    const reason = 'no list of the last 60 days has it';
    expect(JSON.parse(later.out).table.left).toContainEqual({ model: 'openai/gpt-4o-2024-08-06', reason });
    const left = JSON.parse(readFileSync(at('later', 'facts.json'), 'utf8'));
    expect(Object.keys(left.models.openai)).toEqual(['gpt-4o']);
    // Wildcards do not give them the price of another version.
    expect(left.withheld.openai).toContain('gpt-4o-2024-08-06');
  });
});

describe('catalog update names what is wrong and what would be right:', () => {
  const CASES: readonly (readonly [string, () => readonly string[], string])[] = [
    ['nothing named', () => [], 'catalog update needs a list, as in --from models.dev, or the name of one provider'],
    ['a missing file', () => ['--from', at('none')], `--from ${at('none')} does not exist.`],
    [
      'a list without a day',
      () => ['--from', litellm],
      `Add the day on which this version was published: --from ${litellm}=2026-11-20.`,
    ],
    [
      'a copy of a clone inside of another clone',
      () => {
        write(join(clone, 'copy', 'providers/openai/models/x.toml'), toml(PRICED));
        return ['--from', join(clone, 'copy')];
      },
      'Add the day on which this version was published',
    ],
    ['a day to come', () => ['--from', `${litellm}=2026-12-24`], '2026-12-24 is not a day until today, 2026-11-30.'],
    ['another file', () => ['--from', write(at('other.json'), '{}')], 'It must be a clone of models.dev, the package'],
    ['another folder', () => ['--from', folder], `--from ${folder} is not a list of models.`],
    [
      'a package without its list',
      () => {
        write(at('empty', 'package.json'), '{ "name": "@pydantic/genai-prices" }');
        write(at('empty', 'dist', 'index.js'), 'export {};');
        return ['--from', at('empty')];
      },
      'has no list of prices in',
    ],
    [
      'broken TOML',
      () => {
        write(at('broken', 'providers/openai/models/x.toml'), 'a = ');
        return ['--from', at('broken')];
      },
      'providers/openai/models/x.toml is not TOML',
    ],
  ];
  test.each(CASES)('%s', async (_, args, message) => {
    const { code, err } = await run(...args());
    expect([code, err]).toEqual([1, expect.stringContaining(message)]);
  });

  test('nothing is written into the policy folder', async () => {
    expect((await run(...FROM, '--write', folder)).err).toContain('is the policy folder');
    expect(readdirSync(folder)).toEqual(['policy.yaml']);
  });
});
