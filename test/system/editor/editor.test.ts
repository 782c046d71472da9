import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { VARIABLES } from '../../../src/policy/cel/types.ts';
import { LANGUAGE_POLICY } from '../../policy/language-policy.ts';
import { PROGRAM, runToEnd, writePolicy } from '../../support/signalbox.ts';
import { LanguageServer, type Offer, type Position } from './language-server.ts';

/** How an editor shows a policy, tested with the real YAML language server and the shipped schema. */
const POLICIES = join(import.meta.dir, '../../../policies');
const DOCS = join(import.meta.dir, '../../../docs');
const MODELINE = '# yaml-language-server: $schema=./policy.schema.json';
const names = readdirSync(POLICIES).filter((name) => name.endsWith('.yaml'));
const shipped = names.map((name) => ({ path: join(POLICIES, name), text: readFileSync(join(POLICIES, name), 'utf8') }));

const server = new LanguageServer();
beforeAll(() => server.start(POLICIES));
afterAll(() => server.stop());

let files = 0;
/** A file in memory, next to the schema. `¦` marks the cursor. */
function fileOf(marked: string, folder = POLICIES) {
  const [before = '', after = ''] = marked.split('¦');
  const lines = before.split('\n');
  const position: Position = { line: lines.length, character: (lines.at(-1) ?? '').length };
  return { path: join(folder, `unsaved-${files++}.yaml`), text: `${MODELINE}\n${before}${after}`, position };
}

async function offersAt(marked: string, folder?: string): Promise<readonly Offer[]> {
  const { path, text, position } = fileOf(marked, folder);
  server.show(path, text);
  return server.completions(path, position);
}

const offered = async (marked: string, folder?: string) => (await offersAt(marked, folder)).map(({ label }) => label);

async function hoverAt(marked: string): Promise<string> {
  const { path, text, position } = fileOf(marked);
  server.show(path, text);
  return server.hover(path, position);
}

/** Returns the problems, each with its line in the text, from 1. */
async function problemsOf(text: string): Promise<string[]> {
  const { path, text: whole } = fileOf(text);
  const problems = await server.open(path, whole);
  return problems.map(({ range, message }) => `${range.start.line}: ${message}`).sort();
}

describe('files of the policy', () => {
  test('begin with the line by which editors find the schema', () => {
    expect(names.length).toBeGreaterThan(4);
    expect(shipped.filter(({ text }) => !text.startsWith(`${MODELINE}\n`)).map(({ path }) => path)).toEqual([]);
  });

  test('have no problems, and neither have the examples of the docs', async () => {
    const examples = [
      'policies/language.md',
      'policies/guide.md',
      'policies/limit-callers.md',
      'policies/expressions.md',
      'policies/any-model.md',
      'policies/choosing.md',
    ].flatMap((name) => [
      ...readFileSync(join(DOCS, name), 'utf8').matchAll(/^```yaml(?: policy.*)?\n([\s\S]*?)^```$/gm),
    ]);
    expect(examples.length).toBeGreaterThan(12);
    const texts = [...examples.map(([, text = '']) => text), ...LANGUAGE_POLICY.map(({ text }) => text)];
    const all = [...shipped, ...texts.map((text) => fileOf(text))];
    const found = await Promise.all(all.map(({ path, text }) => server.open(path, text)));
    expect(found.flatMap((problems, at) => problems.map(({ message }) => `${all[at]?.path}: ${message}`))).toEqual([]);
  });
});

describe('completion', () => {
  test('completion offers the sections of the language', async () => {
    const sections = ['version', 'providers', 'models', 'selectors', 'constraints', 'budgets', 'cases'];
    expect(await offered('¦')).toEqual(expect.arrayContaining(sections));
    const rest = await offered('version: 1\n¦');
    expect(rest).toContain('models');
    expect(rest).not.toContain('version');
  });

  test('completion offers the keys of a model, except those that it has', async () => {
    const keys = await offered('models:\n  m:\n    provider: openai\n    ¦');
    expect(keys).toEqual(expect.arrayContaining(['endpoints', 'price', 'context_window', 'capabilities', 'quality']));
    expect(keys).not.toContain('provider');
  });

  test('completion begins a map or a list without writing its defaults', async () => {
    const offers = await offersAt('¦');
    const written = (label: string) => offers.find((offer) => offer.label === label)?.textEdit?.newText;
    expect(written('gateway')).toBe('gateway:\n  ');
    expect(written('constraints')).toStartWith('constraints:\n  - name: ');
    expect(written('budgets')).not.toContain('alert_at');
    expect(written('version')).toMatch(/^version: (?:\$\{1:1\})?/);
  });

  test.each([
    [
      'adapters',
      'providers:\n  p:\n    adapter: ¦',
      ['anthropic', 'gemini', 'openai', 'openai-compatible', 'simulated'],
    ],
    ['presets', 'providers:\n  p:\n    preset: ¦', ['groq', 'openai', 'azure-openai', 'ollama']],
    ['strategies', 'selectors:\n  s:\n    strategy: ¦', ['auto', 'auto-fast', 'auto-cheap', 'weighted']],
    ['capabilities', 'models:\n  m:\n    capabilities: [¦]', ['tools', 'vision', 'json_schema', 'reasoning']],
    ['more capabilities', 'models:\n  m:\n    capabilities:\n      - tools\n      - ¦', ['vision', 'json_schema']],
    ['keys of quality', 'models:\n  m:\n    quality:\n      ¦', ['default', 'basis', 'as_of']],
    ['windows', 'budgets:\n  - name: b\n    window: ¦', ['day', 'week', 'month', 'total']],
    ['an example of a zone', 'gateway:\n  time_zone: ¦', ['Europe/Berlin']],
  ])('offers %s', async (_, marked, expected) => {
    expect(await offered(marked)).toEqual(expect.arrayContaining(expected));
  });

  test('completion offers the options of the named strategy, adapter and preset', async () => {
    const labels = (key: string, own: string) => offered(`selectors:\n  s:\n    ${own}\n    ${key}:\n      ¦`);
    expect(await labels('options', 'strategy: auto')).toEqual(['margin', 'strong_margin', 'second_worth', 'step_cost']);
    expect(await labels('options', 'strategy: auto-fast')).toEqual(['margin', 'strong_margin']);
    expect(await labels('options', 'strategy: mine')).toEqual([]);
    expect(await offered('providers:\n  p:\n    preset: openai\n    settings:\n      ¦')).toEqual([
      'service',
      'reasoning_summaries',
    ]);
    expect(await offered('providers:\n  p:\n    adapter: openai-compatible\n    settings:\n      ¦')).toContain(
      'developer_role',
    );
  });

  test('completion explains each word', async () => {
    const meanings = await offersAt('budgets:\n  - name: b\n    on_exhausted: ¦');
    const downgrade = meanings.find(({ label }) => label === 'downgrade');
    expect(JSON.stringify(downgrade?.documentation)).toContain('worst case fits');
  });
});

describe('hover', () => {
  test('hover shows the meaning of a key, its unit and its default', async () => {
    const text = await hoverAt('models:\n  m:\n    latency: { output_tok¦ens_per_second: 110 }');
    expect(text).toContain('Median rate of visible output, in tokens per second.');
    const wait = await hoverAt('gateway:\n  queue¦_ms: 5');
    expect(wait).toContain('Default: `1000`.');
    expect(wait).toContain('in milliseconds');
  });

  test('hover over an expression shows the variables that it can use, with examples', async () => {
    const text = await hoverAt('constraints:\n  - name: c\n    wh¦en: "true"');
    for (const name of Object.keys(VARIABLES.when)) expect(text).toContain(`\`${name}\``);
    expect(text).toContain('request.task == "coding"');
  });

  test('hover explains a section, a model, a preset and an option of a strategy, each once', async () => {
    expect(await hoverAt('budg¦ets: []')).toContain('Limits on the Credits spent in windows of time');
    expect(await hoverAt('models:\n  gp¦t: { provider: x }')).toContain('A model to which requests can be routed');
    expect(await hoverAt('providers:\n  p: { preset: gr¦oq }')).toContain('* `azure-openai`');
    expect(await hoverAt('selectors:\n  s: { strategy: auto, options: { second_wo¦rth: 1 } }')).toContain(
      'Default: `0.1`',
    );
    for (const marked of ['providers: { p: { pre¦set: mine } }', 'base¦line: x']) {
      expect(await hoverAt(marked)).not.toContain('||');
    }
  });
});

describe('diagnostics', () => {
  test('problems are at the line of the mistake', async () => {
    const found = await problemsOf(`modles: {}
models:
  m:
    provider: openai
    price: { input: 1, output: cheap }
    contxt_window: 8192
    context_window: 0
    max_output: 2048
    capabilities: [toolz]
    quality: { default: 78 }
budgets:
  - name: b
    limit_credits: 5
    window: fortnight
constraints:
  - name: empty

selectors:
  s: { strategy: auto-fast, options: { margn: 0.1 } }
tasks:
  t: often
cases:
  - name: c
    given: hello
    expect: m
`);
    expect(found).toEqual([
      '10: Value is above the maximum of 1.',
      '14: Value must be "day" | "week" | "month" | "total".',
      '16: Needs the key require, max_latency_ms or max_cost_credits.',
      '19: Property margn is not allowed.',
      '1: Property modles is not allowed.',
      '21: Incorrect type. Expected "object".',
      '24: Incorrect type. Expected "object".',
      '25: Incorrect type. Expected "object".',
      '5: Incorrect type. Expected "number".',
      '6: Property contxt_window is not allowed.',
      '7: Value is below the minimum of 1.',
      '9: Value must be "tools" | "vision" | "json_schema" | "json_mode" | "reasoning" | "audio_input" | "file_input" | "choices" | "logprobs" | "token_input".',
    ]);
  });
});

describe('signalbox policy schema', () => {
  test('the command writes the schema, with which an editor completes files of the folder', async () => {
    const folder = writePolicy('models: { my-model: { provider: 5 } }\n');
    const { code, out } = await runToEnd([PROGRAM, 'policy', 'schema', folder, '--write'], {});
    expect([code, out]).toEqual([
      0,
      `Wrote ${join(folder, 'policy.schema.json')}. To let your editor check a policy file, begin the file with this line:\n${MODELINE}\n`,
    ]);
    expect(await offered('selectors:\n  s:\n    strategy: ¦', folder)).toContain('auto-fast');
    rmSync(folder, { recursive: true });
  });
});
