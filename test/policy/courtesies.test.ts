import { describe, expect, spyOn, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { NAME_COURTESIES, OPERAND_COURTESIES } from '../../src/policy/cel/explain.ts';
import { FIELD_COURTESIES } from '../../src/policy/cel/fields.ts';
import { KEY_COURTESIES } from '../../src/policy/check/key-remedies.ts';
import { PEER_KEYS } from '../../src/policy/check/peer-key-table.ts';
import { VALUE_COURTESIES } from '../../src/policy/check/value-hints.ts';
import type { Courtesy } from '../../src/policy/report/courtesy.ts';
import { YAML_FAULTS } from '../../src/policy/yaml/messages.ts';
import { DERAILING_SLIPS, SYNTAX_SLIPS } from '../../src/policy/yaml/syntax-slips.ts';
import { BASE, GOLDEN, loadGolden } from './golden.ts';
import { load } from './support.ts';
import { ERRORS, WARNINGS } from './trials.ts';

/** Each courtesy states the mistake that it answers. A row that answers no mistake is not needed. */
type Rows = readonly Courtesy<never, unknown>[];

const TABLES: Readonly<Record<string, Rows>> = {
  ...{ KEY_COURTESIES, VALUE_COURTESIES, FIELD_COURTESIES, NAME_COURTESIES },
  ...{ OPERAND_COURTESIES, DERAILING_SLIPS, SYNTAX_SLIPS },
};

/** Returns the rows of a table that answer while something is done. */
function answering(rows: Rows, make: () => void): readonly Courtesy<never, unknown>[] {
  const spies = rows.map((row) => spyOn(row, 'answer'));
  make();
  const answers = spies.map(({ mock }) => mock.results.some(({ value }) => value !== undefined));
  for (const spy of spies) spy.mockRestore();
  return rows.filter((_, at) => answers[at]);
}

describe.each(Object.entries(TABLES))('%s', (_, rows) => {
  test.each(rows.map((row) => [row.mistake, row] as const))('%s: its own row answers it', (mistake, row) => {
    expect(answering(rows, () => load([{ path: 'p.yaml', text: mistake }, BASE]))).toContain(row);
  });
});

test.each(YAML_FAULTS.map((row) => [row.mistake.slice(0, 40), row] as const))(
  'an error of the YAML library in %p has its own words',
  (_, row) => {
    const options = { uniqueKeys: false, prettyErrors: false, schema: 'core' } as const;
    const { errors, warnings } = parseDocument(row.mistake, options);
    const first = [...errors, ...warnings].map((error) => YAML_FAULTS.find((one) => one.answer(error)));
    expect(first).toContain(row);
  },
);

test('every row of keys that other tools have is needed by a golden policy or by a trial', () => {
  const folders = readdirSync(GOLDEN, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const trials = [...Object.values(ERRORS), ...Object.values(WARNINGS)].map(({ wrong }) => wrong);
  const found = [
    ...folders.flatMap(({ name }) => loadGolden(name).diagnostics),
    ...trials.flatMap((text) => load([{ path: 'p.yaml', text }, BASE]).diagnostics),
  ];
  const hints = found.map(({ hint = '' }) => hint);
  const isNeeded = ({ meant, hint = `did you mean \`${meant}\`?` }: (typeof PEER_KEYS)[number]): boolean => {
    const parts = hint.split(/\{(?:value|name)\}/);
    return hints.some((one) => parts.every((part) => one.includes(part)));
  };
  expect(PEER_KEYS.filter((row) => !isNeeded(row)).map(({ words }) => words)).toEqual([]);
});
