import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PolicyFile } from '../../src/policy/load.ts';
import { LANGUAGE_POLICY } from '../policy/language-policy.ts';
import { rehearsed } from '../policy/rehearsal.ts';

/** The test loads the examples of docs/policies/language.md: the first one alone, the others together with it. */
const TEXT = readFileSync(join(import.meta.dir, '../../docs/policies/language.md'), 'utf8');
const blocks = [...TEXT.matchAll(/^```yaml policy( beside)?\n([\s\S]*?)^```$/gm)].map(
  ([, beside = '', text = ''], at): PolicyFile & { beside: boolean } => ({
    path: `example-${at}.yaml`,
    text,
    beside: beside !== '',
  }),
);

describe('the examples of docs/policies/language.md', () => {
  test('begin with a complete policy', async () => {
    const [first] = blocks;
    expect(first?.beside).toBe(false);
    expect(await rehearsed(first ? [first] : [], () => 'set-for-the-test')).toBe('');
  });

  test('are valid together with it, without a warning', async () => {
    expect(blocks.filter(({ beside }) => beside).length).toBeGreaterThan(1);
    expect(await rehearsed(blocks, () => 'set-for-the-test')).toBe('');
  });
});

test('each price of docs/policies/prices.md is valid in a model, without a warning', async () => {
  const page = readFileSync(join(import.meta.dir, '../../docs/policies/prices.md'), 'utf8');
  const stated = [...page.matchAll(/^```yaml\n(price:\n[\s\S]*?)^```$/gm)].map(([, text = '']) => text);
  expect(stated.length).toBeGreaterThan(1);
  for (const price of stated) {
    const model = `provider: sim\ncontext_window: 8192\nmax_output: 1024\nquality: { default: 0.5, basis: guessed }\n${price}`;
    const text = `version: 1\nproviders: { sim: { adapter: simulated } }\nmodels:\n  m:\n${model.replaceAll(/^/gm, '    ')}`;
    expect(await rehearsed([{ path: 'p.yaml', text }], () => undefined)).toBe('');
  }
});

describe('a policy with every section', () => {
  test('begins with a file that is a complete policy', async () => {
    expect(await rehearsed(LANGUAGE_POLICY.slice(0, 1), () => 'set-for-the-test')).toBe('');
  });

  test('is valid, without a warning, and its cases pass', async () => {
    expect(LANGUAGE_POLICY.length).toBeGreaterThan(10);
    expect(await rehearsed(LANGUAGE_POLICY, () => 'set-for-the-test')).toBe('');
  });
});
