import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PolicyFile } from '../../src/policy/load.ts';
import { rehearsed } from '../policy/rehearsal.ts';

/** The examples of docs/policy-language.md are loaded: the first alone, the others beside it and each other. */
const TEXT = readFileSync(join(import.meta.dir, '../../docs/policy-language.md'), 'utf8');
const blocks = [...TEXT.matchAll(/^```yaml policy( beside)?\n([\s\S]*?)^```$/gm)].map(
  ([, beside = '', text = ''], at): PolicyFile & { beside: boolean } => ({
    path: `example-${at}.yaml`,
    text,
    beside: beside !== '',
  }),
);

describe('the examples of docs/policy-language.md', () => {
  test('begin with one that is a policy of its own', () => {
    const [first] = blocks;
    expect(first?.beside).toBe(false);
    expect(rehearsed(first ? [first] : [], () => 'set')).toBe('');
  });

  test('are right together, without a warning, and their cases hold', () => {
    expect(blocks.filter(({ beside }) => beside).length).toBeGreaterThan(5);
    expect(rehearsed(blocks, () => 'set')).toBe('');
  });
});
