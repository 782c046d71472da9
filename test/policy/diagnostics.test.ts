import { describe, expect, test } from 'bun:test';
import { formatDiagnostics } from '../../src/policy/diagnostics.ts';
import { brief, load, loadText, only, problems, SMALL } from './support.ts';

/** SMALL has 13 lines, so appended text begins at line 14. */
const plus = (text: string) => problems(SMALL + text);
const swap = (from: string, to: string) => {
  if (!SMALL.includes(from)) throw new Error(`the policy has no ${from}`);
  return SMALL.replace(from, to);
};
const swapped = (from: string, to: string) => problems(swap(from, to));

describe('every problem has its code and its exact place', () => {
  test.each([
    ['an unknown section', 'modles: {}', ['14:1 unknown-key']],
    ['a section of a wrong type', 'gateway: 7', ['14:10 wrong-type']],
    ['names that are no map', 'tasks: [a]', ['14:8 wrong-type']],
    ['an unknown key', 'gateway:\n  body_byte_max: 9', ['15:3 unknown-key']],
    ['a text for a number', 'gateway: { tools_max: many }', ['14:23 wrong-type']],
    ['a number in quotes', 'answer_worth: "20"', ['14:15 wrong-type']],
    ['a key without a value', 'answer_worth:', ['14:1 wrong-type']],
    ['a number too small', 'records: { retention_days: 0 }', ['14:28 out-of-range']],
    ['a fraction for a whole', 'gateway: { tools_max: 1.5 }', ['14:23 wrong-type']],
    ['an unknown baseline', 'baseline: tinny', ['14:11 unknown-reference']],
    ['weights all zero', 'default_weights: { cost: 0, quality: 0 }', ['14:1 out-of-range']],
    ['a reference of no price', 'reference_price: { input: 1, output: 0 }', ['14:38 out-of-range']],
    ['a Credit worth nothing', 'credits: { usd_per_credit: 0 }', ['14:28 out-of-range']],
    ['a Credit written inexactly', 'credits: { usd_per_credit: .1 }', ['14:28 bad-form']],
    ['an unknown strategy', 'selectors: { mine: { strategy: atuo } }', ['14:32 unknown-reference']],
    [
      'an unknown option',
      'selectors: { auto-fast: { strategy: auto-fast, options: { margin: 1 } } }',
      ['14:59 unknown-key'],
    ],
    ['an option out of range', 'selectors: { auto: { strategy: auto, options: { cost: 2 } } }', ['14:55 out-of-range']],
    ['an option of a wrong type', 'selectors: { a: { strategy: auto, options: { cost: x } } }', ['14:52 wrong-type']],
    ['a plugin that throws', 'selectors: { a: { strategy: moody, options: {} } }', ['14:45 plugin-failed']],
    ['a missing key', 'selectors:\n  mine: {}', ['15:3 missing-key']],
    ['a selector named like a model', 'selectors: { tiny: { strategy: auto } }', ['14:14 duplicate-name']],
    [
      'a task named like a word',
      'tasks: { basis: { expected_output_tokens: 1, default_input_tokens: 1 } }',
      ['14:10 bad-name'],
    ],
    ['a section given twice', 'version: 1', ['14:1 duplicate-name']],
    ['broken YAML', 'tasks: { a', ['14:8 yaml-syntax']],
    ['an anchor', 'tasks: &x {}', ['14:8 yaml-feature']],
    ['an alias', 'answer_worth: *x', ['14:15 yaml-feature']],
    ['a tab', 'gateway:\n\ttools_max: 1', ['15:1 yaml-syntax']],
    ['a tag', 'tasks: !mine {}', ['14:8 yaml-feature']],
    ['a merge key', 'gateway: { <<: {} }', ['14:12 yaml-feature']],
    ['nothing at all', 'baseline: tiny', []],
  ])('%s', (_, text, expected) => {
    expect(plus(text)).toEqual(expected);
  });

  test.each([
    ['another version', 'version: 1', 'version: 2', ['1:10 not-one-of']],
    ['no version', 'version: 1', '# none', ['1:1 no-version']],
    ['an unknown adapter', 'adapter: simulated', 'adapter: simulatd', ['3:19 unknown-reference']],
    ['an unknown provider', 'provider: sim', 'provider: sin', ['6:15 unknown-reference']],
    ['a wire adapter without address', 'adapter: simulated', 'adapter: openai-compatible', ['3:3 missing-key']],
    [
      'a setting not on offer',
      '{ adapter: simulated }',
      '{ adapter: simulated, settings: { speed: 1 } }',
      ['3:42 unknown-key'],
    ],
    [
      'a setting that is no choice',
      '{ adapter: simulated }',
      '{ adapter: openai-compatible, base_url: "http://a", settings: { max_tokens_field: max_token } }',
      ['3:90 not-one-of'],
    ],
    ['an address that is none', 'simulated }', 'simulated, base_url: "ftp://a" }', ['3:40 bad-form']],
    ['two addresses', 'simulated }', 'simulated, base_url: "http://a", base_url_env: A }', ['3:66 conflicting-keys']],
    ['an unknown word', 'simulated }', 'simulated, serve: alone }', ['3:37 not-one-of']],
    ['a negative price', 'input: 0.10', 'input: -0.10', ['7:21 out-of-range']],
    ['a price per token', 'input: 0.10', 'input: 0.0000001', ['7:21 price-per-token']],
    ['a price with a currency', 'input: 0.10', 'input: $0.10', ['7:21 wrong-type']],
    ['a price that is no plain decimal', 'input: 0.10', 'input: 0x10', ['7:21 bad-form']],
    ['a price too exact', 'input: 0.10', 'input: 0.10000000000000000001', ['7:12 price-not-exact']],
    ['a day that is none', 'output: 0.40', 'output: 0.40, as_of: 2026-13-01', ['7:48 bad-form']],
    ['no price', 'price: { input: 0.10, output: 0.40 }', 'tags: []', ['5:3 missing-key']],
    ['no provider', 'provider: sim', 'tags: []', ['5:3 missing-key']],
    ['both forms', 'provider: sim', 'provider: sim\n    endpoints: [{ provider: sim }]', ['6:5 conflicting-keys']],
    ['tiers that descend', 'output: 0.40', descendingTiers(), ['7:116 out-of-range']],
    ['an unknown capability', 'max_output: 2048', 'max_output: 2048\n    capabilities: [tool]', ['10:20 not-one-of']],
    ['more output than context', 'max_output: 2048', 'max_output: 9000', ['9:17 out-of-range']],
    [
      'more default than output',
      'max_output: 2048',
      'max_output: 2048\n    default_max_output: 4096',
      ['10:25 out-of-range'],
    ],
    ['quality in percent', 'default: 0.6', 'default: 60', ['11:16 out-of-range']],
    ['quality of an unknown task', 'default: 0.6', 'default: 0.6\n      codng: 0.5', ['12:7 unknown-reference']],
    ['no default quality', 'default: 0.6', 'basis: guessed', ['10:5 missing-key']],
    ['a bad name', '  tiny:', '  "ti ny":', ['5:3 bad-name']],
    ['a model given twice', 'models:\n', 'models:\n  tiny: {}\n', ['5:3 missing-key', '6:3 duplicate-name']],
    ['no models', SMALL.slice(SMALL.indexOf('models:')), 'models: {}\n', ['4:1 no-models']],
  ])('%s', (_, from, to, expected) => {
    const found = swapped(from, to);
    expect([...new Set(found)]).toEqual(expected);
  });

  test('a file that is not a map', () => {
    expect(problems('- 1')).toEqual(['1:1 wrong-type']);
  });

  test('an environment that cannot serve any model, with the missing variables', () => {
    const text = swap('simulated }', 'simulated, api_key_env: SIM_KEY }');
    const found = only(loadText(text), 'nothing-to-serve');
    expect(brief(found)).toBe('2:1 nothing-to-serve');
    expect(found.hint).toContain('SIM_KEY is not set');
  });

  test('a variable that holds no address, without its value', () => {
    const text = swap('simulated }', 'simulated, base_url_env: SIM_URL }');
    const result = loadText(text, { SIM_URL: 'hunter2' });
    expect(brief(only(result, 'bad-environment'))).toBe('3:44 bad-environment');
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });
});

function descendingTiers(): string {
  const tier = (over: number) => `{ over_input_tokens: ${over}, input: 1, output: 1 }`;
  return `output: 0.4, tiers: [${tier(9)}, ${tier(5)}]`;
}

describe('the same name twice shows both places', () => {
  test('in one file', () => {
    const found = only(loadText(`${SMALL}  tiny: {}\n`), 'duplicate-name');
    expect(found).toMatchObject({ line: 14, column: 3, message: '`tiny` is defined twice' });
    expect(found.related?.place).toMatchObject({ file: 'p.yaml', line: 5, column: 3 });
  });

  test('in two files', () => {
    const text = '\nproviders:\n  other: { adapter: simulated }\n  sim: { adapter: simulated }\n';
    const found = only(
      load([
        { path: 'p.yaml', text: SMALL },
        { path: 'q.yaml', text },
      ]),
      'duplicate-name',
    );
    expect(found).toMatchObject({ file: 'q.yaml', line: 4, column: 3, message: '`providers.sim` is defined twice' });
    expect(found.related?.place).toMatchObject({ file: 'p.yaml', line: 3, column: 3 });
  });

  test('but an empty section does not count as defined', () => {
    const files = [
      'constraints:\n',
      'constraints:\n  - { name: cap, max_cost_credits: 5 }\n',
      'constraints: # later\n',
    ];
    const result = load([{ path: 'p.yaml', text: SMALL }, ...files.map((text, at) => ({ path: `q${at}.yaml`, text }))]);
    expect(result.diagnostics).toEqual([]);
    expect(result.snapshot?.constraints.map(({ name }) => name)).toEqual(['cap']);
  });

  test('a section that is one value', () => {
    const files = ['a', 'b'].map((name) => ({
      path: `${name}.yaml`,
      text: `${name === 'a' ? SMALL : ''}answer_worth: 3\n`,
    }));
    const found = only(load(files), 'duplicate-name');
    expect(found).toMatchObject({ file: 'b.yaml', line: 1, column: 1 });
    expect(found.related?.place).toMatchObject({ file: 'a.yaml', line: 14, column: 1 });
  });
});

describe('a secret in the policy is refused and never printed', () => {
  const key = 'sk-proj-Abc123Def456Ghi789';
  const print = (text: string) => {
    const result = loadText(text);
    return {
      result,
      printed: JSON.stringify(result) + formatDiagnostics(result.diagnostics, [{ path: 'p.yaml', text }]),
    };
  };

  test.each([
    ['in place of a variable', swap('simulated }', `simulated, api_key_env: ${key} }`), '3:43'],
    ['without a mark of its own', swap('simulated }', 'simulated, api_key_env: aB3dE6gH9jK2mN5p }'), '3:43'],
    ['under a key that nobody knows', swap('simulated }', 'simulated, api_key: hunter2hunter2 }'), '3:39'],
    ['anywhere', swap('max_output: 2048', `max_output: 2048\n    tags: [a, ${key}]`), '10:15'],
    ['as a name', `${SMALL}  ${key}: {}\n`, '14:3'],
    ['in an address', swap('simulated }', 'simulated, base_url: "https://me:hunter2@a/v1" }'), '3:40'],
  ])('%s', (_, text, place) => {
    const { result, printed } = print(text);
    expect(brief(only(result, 'secret'))).toBe(`${place} secret`);
    for (const secret of [key, 'aB3dE6gH9jK2mN5p', 'hunter2']) expect(printed).not.toContain(secret);
    expect(printed).toContain('**');
  });

  test('also in a comment on a line that another problem shows', () => {
    const { printed } = print(swap('adapter: simulated }', `adapter: other } # ${key}`));
    expect(printed).toContain('unknown-reference');
    expect(printed).not.toContain(key);
  });
});

describe('all at once', () => {
  test('problems of all files, sorted by file, line and column', () => {
    const first = swap('input: 0.10, output: 0.40', 'input: -1, output: x').replace('provider: sim', 'provider: sum');
    const result = load([
      { path: 'b.yaml', text: first },
      { path: 'a.yaml', text: 'gateway: { x: 1 }\nbaseline: none\n' },
    ]);
    expect(result.diagnostics.map((found) => `${found.file}:${brief(found)}`)).toEqual([
      'a.yaml:1:12 unknown-key',
      'a.yaml:2:11 unknown-reference',
      'b.yaml:6:15 unknown-reference',
      'b.yaml:7:21 out-of-range',
      'b.yaml:7:33 wrong-type',
    ]);
  });

  test('an unreadable file is reported once and does not hide problems of the others', () => {
    const result = load([
      { path: 'a.yaml', text: 'providers: {' },
      { path: 'b.yaml', text: SMALL.replace(/providers:\n.*\n/, 'gateway: { x: 1 }\n') },
    ]);
    expect(result.diagnostics.map((found) => `${found.file}:${found.code}`)).toEqual([
      'a.yaml:yaml-syntax',
      'b.yaml:unknown-key',
    ]);
  });

  test('no files at all is an error, not a crash', () => {
    expect(load([]).diagnostics.map((found) => found.code)).toContain('no-models');
  });

  test('endlessly nested text is an error, not a crash', () => {
    for (const text of ['['.repeat(100_000), '- '.repeat(100_000), '{a: '.repeat(50_000)]) {
      expect(problems(text).length).toBeGreaterThan(0);
    }
  });
});

test('a diagnostic prints its place, the line with carets, the known names and the one probably meant', () => {
  const text = swap('max_output: 2048', 'max_outptu: 2048');
  const result = loadText(text);
  // A misspelt required key is one mistake, reported at the misspelt key.
  expect(result.diagnostics.map(({ code }) => code)).toEqual(['unknown-key']);
  const unknown = only(result, 'unknown-key');
  expect(formatDiagnostics([{ ...unknown, expected: 'one of `…`' }], [{ path: 'p.yaml', text }])).toBe(
    `p.yaml:9:5  unknown-key  \`models.tiny\` has no key \`max_outptu\`
  8 |     context_window: 8192
> 9 |     max_outptu: 2048
    |     ^^^^^^^^^^
  expected: one of \`…\`
  hint: did you mean \`max_output\`?`,
  );
  expect(unknown.expected).toContain('`context_window`, `max_output`');
});

test('a related place is shown with its own line', () => {
  const text = `${SMALL}  tiny: {}\n`;
  const printed = formatDiagnostics(loadText(text).diagnostics, [{ path: 'p.yaml', text }]);
  expect(printed).toContain('p.yaml:14:3  duplicate-name  `tiny` is defined twice');
  expect(printed).toContain('  p.yaml:5:3  first defined here\n  4 | models:\n> 5 |   tiny:\n    |   ^^^^');
});

test('endlessly nested YAML has a message of our own, not the library’s', () => {
  const { message } = only(loadText(`${SMALL}tasks: ${'['.repeat(20_000)}\n`), 'yaml-syntax');
  expect(message).toBe('maps and lists nest too deeply');
});
