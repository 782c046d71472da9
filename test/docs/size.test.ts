import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The documentation stays short enough to be read. A page that needs more words takes them from another, or raises this figure with the reason: 1,000 for PostgreSQL. */
const DOCS = join(import.meta.dir, '../../docs');
const WORDS_MAX = 69_000;

const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, text: readFileSync(join(DOCS, name), 'utf8') }));

/** Words of prose, code and tables; not the lines of tables and lists. */
const wordsIn = (text: string): number => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

test('all pages together have at most 69,000 words', () => {
  const words = pages.reduce((sum, { text }) => sum + wordsIn(text), 0);
  expect(words).toBeGreaterThan(20_000);
  expect(words).toBeLessThanOrEqual(WORDS_MAX);
});

test('every page begins with a title and a paragraph', () => {
  const odd = pages.filter(({ text }) => !/^# \S[^\n]*\n\n(?![#|`!<-])\S/.test(text));
  expect(odd.map(({ name }) => name)).toEqual([]);
});
