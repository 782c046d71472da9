import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TSchema } from '@sinclair/typebox';
import { isCodeLanguage } from '../../../src/core/request/languages.ts';
import { SchemaCheck } from '../../../src/core/schema/check.ts';
import { FEATURE_NAMES } from '../../../src/routing/profile/features.ts';
import {
  CorrectionFile,
  ExpressionFile,
  FeatureFile,
  LetterFile,
  SignFile,
  WeightTable,
  WordLists,
  WordTableFile,
} from '../../../src/routing/profile/lexicon/data-shapes.ts';
import { LANGUAGES } from '../../../src/routing/profile/lexicon/lexicon.ts';
import { SIGNS } from '../../../src/routing/profile/lexicon/signs.ts';
import { TASKS } from '../../../src/routing/profile/tasks.ts';
import { COLUMN } from '../../../src/routing/profile/word-table.ts';

const FOLDER = join(import.meta.dir, '../../../src/routing/profile');
const filesIn = (folder: string) =>
  readdirSync(join(FOLDER, folder))
    .flatMap((name) => (name.endsWith('.json') ? join(folder, name) : []))
    .sort();
const read = (file: string) => JSON.parse(readFileSync(join(FOLDER, file), 'utf8'));

/** The shapes, by a member that only files of this shape have. */
const SHAPES: Readonly<Record<string, TSchema>> = {
  features: FeatureFile,
  signs: SignFile,
  scripts: LetterFile,
  expressions: ExpressionFile,
  rows: WeightTable,
  base64: WordTableFile,
  lists: WordLists,
  corrections: CorrectionFile,
};
const shapeOf = (file: string): TSchema => SHAPES[Object.keys(SHAPES).find((name) => name in read(file)) ?? '']!;

describe('a data file of the prompt reader', () => {
  const files = ['.', 'lexicon', 'lexicon/languages'].flatMap(filesIn);

  test.each(files)('%s has its shape and no other members', (file) => {
    expect(new SchemaCheck(shapeOf(file)).errorOf(read(file))).toBeUndefined();
  });

  test('with an empty line of words, a lone star or an unknown member is detected', () => {
    const check = new SchemaCheck(WordLists);
    const file = (line: string) => ({ about: 'French', lists: { say: [line] } });
    expect(check.accepts(file('dit signifi*'))).toBe(true);
    for (const line of ['', ' dit', 'dit  signifi*', '*', 'si*gn']) expect(check.accepts(file(line))).toBe(false);
    expect(check.accepts({ ...file('dit'), note: '' })).toBe(false);
  });
});

test('has words for every language, a verb for each task that needs one, and no unknown sign', () => {
  expect(filesIn('lexicon/languages').map((file) => file.slice(-7, -5))).toEqual([...LANGUAGES].sort());
  for (const language of LANGUAGES) {
    const signs = Object.keys(read(`lexicon/languages/${language}.json`).lists);
    expect([language, signs.filter((sign) => !SIGNS.some((known) => known === sign))]).toEqual([language, []]);
    expect(signs).toContainValues(['words', 'translate', 'summarize', 'extract', 'classify', 'edit']);
  }
});

test('has a row of weights only for features, with a figure for each column', () => {
  const { columns, rows } = read('weights.json');
  expect(columns).toEqual([...TASKS, ...Object.keys(COLUMN)]);
  for (const name in rows) expect([name, rows[name].length]).toEqual([name, columns.length]);
  expect(Object.keys(rows).filter((name) => !FEATURE_NAMES.includes(name))).toEqual([]);
});

test('has lines of code only for programming languages that exist', () => {
  const languages = Object.keys(read('lexicon/code-lines.json').expressions).filter(Boolean);
  expect(languages.filter((name) => !isCodeLanguage(name))).toEqual([]);
});
