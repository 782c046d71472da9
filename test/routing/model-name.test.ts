import { expect, test } from 'bun:test';
import { nameHint, similarName } from '../../src/routing/model-name.ts';

const KNOWN = ['auto', 'auto-cheap', 'gpt-4o-mini', 'claude-opus-4-1', 'openrouter/deepseek-v4', 'o3'];

test.each([
  ['gpt-4o-mni', 'gpt-4o-mini'],
  ['claude-opus-4.1', 'claude-opus-4-1'],
  ['Auto', 'auto'],
  ['auto_cheep', 'auto-cheap'],
  ['openai/gpt-4o-mini', 'gpt-4o-mini'],
  ['deepseek-v4', 'openrouter/deepseek-v4'],
])('%s stands for %s', (name, meant) => {
  expect(similarName(name, KNOWN)).toBe(meant);
});

test.each(['gpt-5o-mini', 'claude-opus-4', 'o4', 'mistral', '', '/', 'x'.repeat(256)])(
  '%s is no typing error of a known name, because another version is another model',
  (name) => {
    expect(similarName(name, KNOWN)).toBeNull();
  },
);

test.each([
  ['gpt-5o-mini', ' The nearest name is `gpt-4o-mini`.'],
  ['claude-opus-4', ' The nearest name is `claude-opus-4-1`.'],
  ['deepseek-v9', ' The nearest name is `openrouter/deepseek-v4`.'],
  ['autopilot', ' The nearest names are `auto`, `auto-cheap`.'],
  ['gpt-4o-mni', ' Did you mean `gpt-4o-mini`?'],
  ['mistral', ''],
  ['', ''],
])('the error about %s suggests the model names that share words or a beginning with it', (name, hint) => {
  expect(nameHint(name, KNOWN)).toBe(hint);
});
