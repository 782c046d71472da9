import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import { reportText } from '../../../src/cli/import/report.ts';
import { configuration, errorsIn, GOOD, imported } from './support.ts';

/** Each folder is what an import of the configuration of its name writes, and `report.txt` what it says. `UPDATE=1` writes them anew. */
const EXPECTED = join(import.meta.dir, 'expected');
/** Any variable holds something that is a key and an address. */

/** A configuration with one entry, and what else stands beside it. */
const withModel = (params: string, more = '') =>
  `model_list:\n  - model_name: one\n    litellm_params: { ${params} }\n${more}`;
const fileOf = (text: string, name: string) => imported(text).files.find((file) => file.name === name)?.text ?? '';
const outcomeOf = (text: string, path: string) => imported(text).report.keys.find((key) => key.path === path);

describe('each of the configurations', () => {
  for (const name of [...GOOD, 'broken-entries']) {
    test(`${name} becomes what is expected, formatted, without an error, and its cases hold`, async () => {
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
      expect(errorsIn(result.files)).toEqual([]);
    });
  }

  test('has its mistakes told with their places, and its good entries imported', () => {
    const { report } = imported(configuration('broken-entries'));
    expect(report.models).toEqual(['good-one', '4', 'limits-as-text', 'prices', 'typo-in-reference']);
    const places = report.problems.map(({ line, column }) => `${line}:${column}`);
    expect(places).toEqual(expect.arrayContaining(['15:5', '17:5', '32:7', '33:7', '39:7', '40:7', '50:7', '64:18']));
  });
});

describe('money', () => {
  test('is never rounded: USD a token become USD per 1M by their digits', () => {
    const prices = 'input_cost_per_token: 1.1e-7, output_cost_per_token: 0.00000033';
    expect(fileOf(withModel(`model: openai/x, ${prices}`), 'models.yaml')).toContain(
      'price: { input: 0.11, output: 0.33, as_of: 2026-11-20, basis: own }',
    );
  });

  test('is never counted too low: an unknown price is far above any, and the report says so', () => {
    const text = withModel('model: openai/x');
    expect(fileOf(text, 'models.yaml')).toContain('price: { input: 999, output: 999 }');
    expect(imported(text).report.unknownPrices).toEqual(['one']);
    const half = withModel('model: openai/x, input_cost_per_token: 1e-6');
    expect(imported(half).report.unknownPrices).toEqual(['one']);
  });

  test('is found in LiteLLM’s own map of prices, and in the catalog', () => {
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
    const { files, report } = imported(withModel('model: openai/x'), map);
    const models = files.find(({ name }) => name === 'models.yaml')?.text;
    expect(models).toContain('price: { input: 2.5, output: 10, basis: aggregator }');
    expect(models).toContain('context_window: 128000\n');
    expect(models).toContain('capabilities: [vision]');
    expect(report.unknownPrices).toEqual([]);
    const known = fileOf(withModel('model: anthropic/claude-haiku-4-5-20251001'), 'models.yaml');
    expect(known).toContain('input: 1.00, cached_input: 0.10, cache_write: 1.25, output: 5.00, as_of: 2026-10-07');
  });

  test('of a budget is the same in Credits, in a window that lets no more be spent at a time', () => {
    const budget = (duration: string) =>
      fileOf(withModel('model: openai/x', `litellm_settings: { max_budget: 12.5${duration} }`), 'limits.yaml');
    expect(budget('')).toContain('limit_credits: 12500 # 12.5 USD\n    window: total');
    expect(budget(', budget_duration: 1h')).toContain('window: day');
    expect(budget(', budget_duration: 7d')).toContain('window: week');
    expect(budget(', budget_duration: 1mo')).toContain('window: month');
    expect(budget(', budget_duration: 60d')).toContain('limit_credits: 6250 # 12.5 USD\n    window: month');
  });
});

describe('names', () => {
  test('that every policy has become selectors of the models that the configuration means', () => {
    const text = 'model_list:\n  - { model_name: auto, litellm_params: { model: openai/x } }\n';
    expect(imported(text).report).toMatchObject({ models: ['x'], selectors: ['auto'] });
    expect(errorsIn(imported(text).files)).toEqual([]);
  });

  test('of two different models become a selector of both', () => {
    const one = (model: string) => `  - { model_name: smart, litellm_params: { model: ${model} } }\n`;
    const text = `model_list:\n${one('openai/gpt-6-luna')}${one('anthropic/claude-haiku-4-5')}router_settings: { routing_strategy: cost-based-routing }\n`;
    expect(imported(text).report.models).toEqual(['gpt-6-luna', 'claude-haiku-4-5']);
    expect(fileOf(text, 'signalbox.yaml')).toContain('strategy: auto-cheap');
    expect(errorsIn(imported(text).files)).toEqual([]);
  });

  test('keep their order of fallbacks whatever the catalog says of their quality', () => {
    const entry = (name: string, model: string) => `  - { model_name: ${name}, litellm_params: { model: ${model} } }\n`;
    const text = `model_list:\n${entry('a', 'openai/x')}${entry('b', 'openai/gpt-6-luna')}router_settings: { fallbacks: [{ a: [b] }] }\n`;
    expect(fileOf(text, 'cases.yaml')).toContain('name: a takes x first');
    expect(errorsIn(imported(text).files)).toEqual([]);
  });
});

describe('what is shared by anchors', () => {
  test('is told once, and goes where it is used', () => {
    const text = `x-all: &all { timeout: 7 }\n${withModel('<<: *all, model: openai/x')}`;
    expect(outcomeOf(text, 'x-all.timeout')).toMatchObject({
      outcome: 'approximated',
      to: ['models', 'one', 'deadlines', 'total_ms'],
    });
    expect(fileOf(text, 'models.yaml')).toContain('deadlines: { total_ms: 7000 }');
  });
});
