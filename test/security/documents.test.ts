import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The pages on security and privacy name the tests that hold what they promise: each is there, and each promise has one. */
const ROOT = join(import.meta.dir, '../..');
const pages = ['docs/operate/security.md', 'docs/operate/privacy.md'].map((path) => ({
  path,
  text: readFileSync(join(ROOT, path), 'utf8'),
}));

const TEST = /`test\/[\w/-]+\.test\.ts`/;

/** The entries of a list, each with the lines that go on with it. */
const entriesOf = (text: string) => [...text.matchAll(/^- (.+(?:\n {2}.+)*)$/gm)].map(([, entry = '']) => entry);

describe('the pages', () => {
  test('name no file that is not there', () => {
    for (const { path, text } of pages) {
      const named = [...text.matchAll(/`((?:test|src|docs|plugins)\/[\w./-]+)`/g)].map(([, file = '']) => file);
      const linked = [...text.matchAll(/\]\(([\w/.-]+\.md)\)/g)].map(([, file = '']) => join('docs/operate', file));
      expect(named.length).toBeGreaterThan(5);
      const missing = [...named, ...linked].filter((file) => !existsSync(join(ROOT, file)));
      expect([path, missing]).toEqual([path, []]);
    }
  });

  test('have a test for each threat of both lists, all ten of each, and for each promise', () => {
    const [security = '', privacy = ''] = pages.map(({ text }) => text);
    const threats = entriesOf(security).filter((entry) => /^\*\*(?:API|LLM)\d/.test(entry));
    const names = threats.map((entry) => /^\*\*(\w+)/.exec(entry)?.[1]);
    const ten = Array.from({ length: 10 }, (_, at) => at + 1);
    expect(names).toEqual([...ten.map((n) => `API${n}`), ...ten.map((n) => `LLM${String(n).padStart(2, '0')}`)]);
    for (const entry of threats) expect(entry).toMatch(TEST);
    const promises = entriesOf(privacy.split('\n## Promises\n')[1] ?? '');
    expect(promises.length).toBeGreaterThan(4);
    for (const entry of promises) expect(entry).toMatch(TEST);
  });

  test('show policies that serve', async () => {
    const { loadText, SMALL } = await import('../policy/support.ts');
    const blocks = pages.flatMap(({ text }) => [...text.matchAll(/^```yaml policy\n([\s\S]*?)^```$/gm)]);
    expect(blocks.length).toBe(2);
    for (const [, yaml = ''] of blocks) {
      const { diagnostics, snapshot } = loadText(`${SMALL}${yaml}`);
      expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
      expect(snapshot?.content !== null || snapshot.gateway.allowPrivateImageUrls).toBe(true);
    }
  });
});
