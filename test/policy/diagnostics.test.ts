import { describe, expect, test } from 'bun:test';
import { formatDiagnostics } from '../../src/policy/report/diagnostics.ts';
import { brief, load, loadText, only, problems, SMALL } from './support.ts';

/** `SMALL` has 13 lines, so the appended text begins at line 14. */
const plus = (text: string) => problems(SMALL + text);
const swap = (from: string, to: string) => {
  if (!SMALL.includes(from)) throw new Error(`the policy has no ${from}`);
  return SMALL.replace(from, to);
};

/** The golden files show the other mistakes. */
describe('every problem has its code and its exact location', () => {
  test.each([
    ['a number too small', 'records: { retention_days: 0 }', ['14:28 out-of-range']],
    ['a fraction for a whole', 'gateway: { tools_max: 1.5 }', ['14:23 wrong-type']],
    ['a Credit worth nothing', 'credits: { usd_per_credit: 0 }', ['14:28 out-of-range']],
    ['a Credit written inexactly', 'credits: { usd_per_credit: .1 }', ['14:28 bad-form']],
    [
      'an option out of range',
      'selectors: { auto: { strategy: auto, options: { margin: 2 } } }',
      ['14:57 out-of-range'],
    ],
    [
      'a task with a reserved name',
      'tasks: { basis: { expected_output_tokens: 1, default_input_tokens: 1 } }',
      ['14:10 bad-name'],
    ],
    ['nothing at all', 'baseline: tiny', []],
  ])('%s', (_, text, expected) => {
    expect(plus(text)).toEqual(expected);
  });

  test.each([
    [
      'a setting that does not exist',
      '{ adapter: simulated }',
      '{ adapter: simulated, settings: { speed: 1 } }',
      ['3:42 unknown-key'],
    ],
    [
      'a default output above the maximum output',
      'max_output: 2048',
      'max_output: 2048\n    default_max_output: 4096',
      ['10:25 out-of-range'],
    ],
    ['no default quality', 'default: 0.6', 'basis: guessed', ['10:5 missing-key']],
  ])('%s', (_, from, to, expected) => {
    expect(problems(swap(from, to))).toEqual(expected);
  });

  test('an environment that cannot serve any model is reported with the missing variables', () => {
    const text = swap('simulated }', 'simulated, api_key_env: SIM_KEY }');
    const found = only(loadText(text), 'nothing-to-serve');
    expect(brief(found)).toBe('2:1 nothing-to-serve');
    expect(found.hint).toContain('SIM_KEY is not set');
  });

  test('a variable that holds no URL is reported without its value', () => {
    const text = swap('simulated }', 'simulated, base_url_env: SIM_URL }');
    const result = loadText(text, { SIM_URL: 'hunter2' });
    expect(brief(only(result, 'bad-environment'))).toBe('3:44 bad-environment');
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });
});

describe('a name that is defined twice is reported with both locations', () => {
  test('an empty section does not count as defined', () => {
    const files = [
      'constraints:\n',
      'constraints:\n  - { name: cap, max_cost_credits: 5 }\n',
      'constraints: # later\n',
    ];
    const result = load([{ path: 'p.yaml', text: SMALL }, ...files.map((text, at) => ({ path: `q${at}.yaml`, text }))]);
    expect(result.diagnostics).toEqual([]);
    expect(result.snapshot?.constraints.map(({ name }) => name)).toEqual(['cap']);
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
    ['instead of a variable’s name', swap('simulated }', `simulated, api_key_env: ${key} }`), '3:43'],
    ['without a recognizable prefix', swap('simulated }', 'simulated, api_key_env: aB3dE6gH9jK2mN5p }'), '3:43'],
    ['in an unknown key', swap('simulated }', 'simulated, api_key: hunter2hunter2 }'), '3:39'],
    ['anywhere', swap('max_output: 2048', `max_output: 2048\n    tags: [a, ${key}]`), '10:15'],
    ['as a name', `${SMALL}  ${key}: {}\n`, '14:3'],
    ['in an address', swap('simulated }', 'simulated, base_url: "https://me:hunter2@a/v1" }'), '3:40'],
  ])('%s', (_, text, place) => {
    const { result, printed } = print(text);
    expect(brief(only(result, 'secret'))).toBe(`${place} secret`);
    for (const secret of [key, 'aB3dE6gH9jK2mN5p', 'hunter2']) expect(printed).not.toContain(secret);
    expect(printed).toContain('**');
  });

  test('a secret is also masked in a comment on a line that another problem shows', () => {
    const { printed } = print(swap('adapter: simulated }', `adapter: other } # ${key}`));
    expect(printed).toContain('unknown-reference');
    expect(printed).not.toContain(key);
  });
});

describe('all at once', () => {
  test('problems of all files are sorted by file, line and column', () => {
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

  test('an unreadable file is reported once and does not hide problems of other files', () => {
    const result = load([
      { path: 'a.yaml', text: 'providers: {' },
      { path: 'b.yaml', text: SMALL.replace(/providers:\n.*\n/, 'gateway: { x: 1 }\n') },
    ]);
    expect(result.diagnostics.map((found) => `${found.file}:${found.code}`)).toEqual([
      'a.yaml:yaml-syntax',
      'b.yaml:unknown-key',
    ]);
  });

  test('a policy without files is an error, not a crash', () => {
    expect(load([]).diagnostics.map((found) => found.code)).toContain('no-models');
  });

  test('an endlessly nested expression is an error, not a crash', () => {
    for (const text of ['['.repeat(40_000), '- '.repeat(40_000), '{a: '.repeat(20_000)]) {
      expect(problems(text).length).toBeGreaterThan(0);
    }
  });
});

test('endlessly nested YAML gets Signalbox’s own message, not the library’s', () => {
  const { message } = only(loadText(`${SMALL}tasks: ${'['.repeat(20_000)}\n`), 'yaml-syntax');
  expect(message).toBe('maps and lists are nested too deeply');
});
