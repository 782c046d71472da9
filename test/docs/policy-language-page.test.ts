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

describe('a policy with every section', () => {
  test('begins with a file that is a complete policy', async () => {
    expect(await rehearsed(LANGUAGE_POLICY.slice(0, 1), () => 'set-for-the-test')).toBe('');
  });

  test('is valid, without a warning, and its cases pass', async () => {
    expect(LANGUAGE_POLICY.length).toBeGreaterThan(10);
    expect(await rehearsed(LANGUAGE_POLICY, () => 'set-for-the-test')).toBe('');
  });
});
