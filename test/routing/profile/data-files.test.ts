import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TSchema } from '@sinclair/typebox';
import { canonicalLanguage, isCodeLanguage } from '../../../src/core/request/languages.ts';
import { SchemaCheck } from '../../../src/core/schema/check.ts';
import {
  AnswerFile,
  CorrectionFile,
  ExpressionFile,
  ProgrammingFile,
  TablesFile,
} from '../../../src/routing/profile/lexicon/data-shapes.ts';

const FOLDER = join(import.meta.dir, '../../../src/routing/profile');
const filesIn = (folder: string) =>
  readdirSync(join(FOLDER, folder)).flatMap((name) => (name.endsWith('.json') ? join(folder, name) : []));
const read = (file: string) => JSON.parse(readFileSync(join(FOLDER, file), 'utf8'));

/** The shapes, by a member that only files of this shape have. */
const SHAPES: Readonly<Record<string, TSchema>> = {
  units: AnswerFile,
  expressions: ExpressionFile,
  extensions: ProgrammingFile,
  tasks: TablesFile,
  corrections: CorrectionFile,
};
const shapeOf = (file: string): TSchema => SHAPES[Object.keys(SHAPES).find((name) => name in read(file)) ?? '']!;

describe('a data file of the prompt reader', () => {
  test.each(['.', 'lexicon'].flatMap(filesIn))('%s has its shape and no other members', (file) => {
    expect(new SchemaCheck(shapeOf(file)).errorOf(read(file))).toBeUndefined();
  });

  test('with an empty list of words or an unknown member is detected', () => {
    const check = new SchemaCheck(ProgrammingFile);
    const file = (names: string) => ({ about: 'Names', names: { c: names }, everyday: {}, extensions: {} });
    expect(check.accepts(file('c ansi_c'))).toBe(true);
    for (const names of ['', ' c', 'c  d']) expect(check.accepts(file(names))).toBe(false);
    expect(check.accepts({ ...file('c'), note: '' })).toBe(false);
  });

  test('names only programming languages that exist, canonically', () => {
    const { names, everyday, extensions } = read('lexicon/programming.json');
    const lines = Object.keys(read('lexicon/code-lines.json').expressions).filter(Boolean);
    const all = [...lines, ...[names, everyday, extensions].flatMap((one) => Object.keys(one))];
    expect(all.filter((name) => !isCodeLanguage(name) || canonicalLanguage(name) !== name)).toEqual([]);
  });
});

test('the tables of the prompt reader have at most 400 KB', () => {
  expect(readFileSync(join(FOLDER, 'tables.json')).length).toBeLessThanOrEqual(400_000);
});
