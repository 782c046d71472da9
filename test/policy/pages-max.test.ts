import { describe, expect, test } from 'bun:test';
import { loadText, snapshotOf } from './support.ts';

const policyOf = (one: string, two: string, model = '') => `version: 1
providers:
  one: { adapter: simulated${one} }
  two: { adapter: openai-compatible, base_url: https://two.example/v1${two} }
models:
  m:
    endpoints: [{ provider: one }, { provider: two }]
    price: { input: 1, output: 4 }
    context_window: 8000
    max_output: 1000
    page_tokens_max: 700
    quality: { default: 0.5, basis: guessed }
${model}`;
const pagesOf = (...parts: Parameters<typeof policyOf>) => snapshotOf(loadText(policyOf(...parts))).models[0]!.pagesMax;

const A_REQUEST = ', pages_max: { request: 100 }';
const A_FILE = ', pages_max: { file: 40 }';

describe('the most PDF pages that a model’s services read', () => {
  test('the most PDF pages that a model’s services read are the figures of each provider that serves the model', () => {
    expect(pagesOf(A_REQUEST, A_FILE)).toEqual([
      { request: 100, file: null },
      { request: null, file: 40 },
    ]);
  });

  test('the most PDF pages that a model’s services read are unknown if any of its providers does not state a figure', () => {
    expect(pagesOf(A_REQUEST, '')).toEqual([]);
    expect(pagesOf('', '')).toEqual([]);
  });

  test('the most PDF pages that a model’s services read are the model’s own figures if it states them, whatever its providers state', () => {
    const own = '    pages_max: { request: 9, file: 3 }\n';
    expect(pagesOf(A_REQUEST, '', own)).toEqual([{ request: 9, file: 3 }]);
  });
});
