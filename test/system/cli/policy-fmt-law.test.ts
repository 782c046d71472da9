import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import * as yaml from 'prettier/plugins/yaml';
import * as prettier from 'prettier/standalone';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { isMap, isScalar, isSeq, parseDocument } from 'yaml';
import { YAMLFormatter } from 'yaml-language-server/out/src/languageservice/services/yamlFormatter.js';
import { formatYaml, type Layout } from '../../../src/operate/policy/format-yaml.ts';
import { anyWritten } from '../../cli/yaml-texts.ts';
import { effort } from '../../deep/effort.ts';

/** Any YAML keeps its data and its comments when it is formatted, and formatting it again changes nothing. */
const { runs, seed, proved } = effort('policy-fmt', 10, 20_000);

/** By another way than the command's own check goes: from the document's tree. */
function dataOf(text: string): unknown {
  return plain(parseDocument(text, { schema: 'core' }).contents);
}

function plain(node: unknown): unknown {
  if (isMap(node)) return node.items.map(({ key, value }) => [keyOf(key), plain(value)]);
  if (isSeq(node)) return node.items.map(plain);
  if (!isScalar(node)) return null;
  const { value, source, type } = node;
  return typeof value === 'string' || type !== 'PLAIN' ? value : { number: source };
}

const keyOf = (key: unknown): string => (isScalar(key) ? (key.source ?? '') : '');

const commentsOf = (text: string): string[] => [...text.matchAll(/# ?§\d+: "why" \[it/g)].map(([found]) => found);

type Format = (text: string) => ReturnType<typeof formatYaml>;

/** What is not formatted is not touched; that happens to comments in brackets alone. */
const law = (format: Format, inBrackets = false) =>
  fc.asyncProperty(anyWritten(inBrackets), async ({ text, data, comments }) => {
    expect(dataOf(text)).toEqual(data);
    const formatted = await format(text);
    if (inBrackets && 'kind' in formatted && formatted.kind === 'damaged') return;
    if ('kind' in formatted) throw new Error(`${formatted.message}\n${text}`);
    expect(dataOf(formatted.text)).toEqual(data);
    expect(commentsOf(formatted.text)).toEqual([...comments]);
    expect(await format(formatted.text)).toEqual(formatted);
  });

/** Prettier, without what watches over it. */
const bare: Layout = (text) => prettier.format(text, { parser: 'yaml', plugins: [yaml], printWidth: 120 });

/** What a formatter may do wrong. */
const DAMAGES: Readonly<Record<string, (text: string) => string>> = {
  'a figure loses a zero': (text) => text.replace('1.00', '1.0'),
  'a text becomes a number': (text) => text.replace(/"1\.00"|'1\.00'/, '1.00'),
  'a comment is lost': (text) => text.replace(/ *#§1: .*/, ''),
  'a comment is changed': (text) => text.replace('#§1', '# §1'),
  'two comments change places': (text) =>
    text.includes('# §2:') ? text.replace(/# ?§([12]):/g, (_, which) => (which === '1' ? '# §2:' : '#§1:')) : text,
  'an anchor is lost': (text) => text.replace(/ &a0/, ''),
};

describe('formatting', () => {
  test('keeps data and comments, and once is enough', async () => {
    await fc.assert(law(formatYaml), { numRuns: runs, seed });
    await fc.assert(law(formatYaml, true), { numRuns: runs, seed });
    proved(`${2 * runs} YAML texts of any look, formatted: data and comments stayed, or the text was left alone`);
  }, 600_000);

  test('fails for prettier alone, which loses comments in brackets', async () => {
    const unwatched: Format = async (text) => ({ text: await bare(text) });
    const { failed } = await fc.check(law(unwatched, true), { numRuns: 3_000, seed, endOnFailure: true });
    expect(failed).toBe(true);
  });

  test('would be caught if it did more each time', async () => {
    const growing: Format = async (text) => ({ text: `${await bare(text)}\n` });
    const { failed } = await fc.check(law(growing), { numRuns: 3_000, seed, endOnFailure: true });
    expect(failed).toBe(true);
  });

  test.each(Object.entries(DAMAGES))('is refused if %s', async (_, damage) => {
    let damaged = 0;
    for (const { text } of fc.sample(anyWritten(false), { numRuns: 60, seed })) {
      const right = await bare(text);
      const wrong = damage(right);
      if (wrong === right) continue;
      expect(await formatYaml(right, async () => wrong), wrong).toMatchObject({ kind: 'damaged' });
      if (++damaged === 5) break;
    }
    expect(damaged).toBeGreaterThan(0);
  });
});

describe('the YAML language server', () => {
  test('formats as the command does, with lines of 120 columns', async () => {
    const editor = new YAMLFormatter();
    for (const { text } of fc.sample(anyWritten(false), { numRuns: 10, seed })) {
      const formatted = await formatYaml(text);
      const document = TextDocument.create('file:///policy.yaml', 'yaml', 1, text);
      const [edit] = await editor.format(document, { printWidth: 120, tabSize: 2, insertSpaces: true });
      expect(formatted).toEqual({ text: edit?.newText ?? text });
    }
  });
});
