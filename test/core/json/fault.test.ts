import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { jsonFault } from '../../../src/core/json/fault.ts';
import { tries } from '../../deep/effort.ts';

const { numRuns, seed } = tries('jsonFault finds a mistake where JSON.parse does', 200, 20_000);

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON with some characters inserted, removed or swapped. */
const nearJson = fc
  .tuple(
    fc.json({ maxDepth: 4 }),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom('', ',', '"', "'", '{', '}', '[', ']', ':', '\\', '\n', 'x', '1', '.', '-', 'e', ' '),
      ),
      {
        maxLength: 3,
      },
    ),
  )
  .map(([text, edits]) =>
    edits.reduce((now, [where, what]) => {
      const at = where % (now.length + 1);
      return now.slice(0, at) + what + now.slice(at + (what === '' ? 1 : 0));
    }, text),
  );

test(`finds a mistake in every text that JSON.parse refuses, and in no other (seed ${seed})`, () => {
  fc.assert(
    fc.property(fc.oneof(nearJson, fc.string()), (text) => {
      const fault = jsonFault(text);
      if (parses(text)) return fault === null;
      const lines = text.split('\n');
      return fault !== null && fault.column >= 1 && fault.column <= (lines[fault.line - 1] ?? '').length + 1;
    }),
    { numRuns, seed },
  );
});

test.each([
  ['{"a": 1,}', 1, 8, 'a comma cannot come before }'],
  ['[1,\n 2,\n]', 2, 3, 'a comma cannot come before ]'],
  ['{"a": 1\n "b": 2}', 2, 2, 'expected a comma or }'],
  ["{'a': 1}", 1, 2, 'strings need double quotes'],
  ['{a: 1}', 1, 2, 'expected a field name in double quotes'],
  ['{"a" 1}', 1, 6, 'expected a colon after the field name'],
  ['{"a": tru}', 1, 7, 'expected a value'],
  ['{"a": "one\ntwo"}', 1, 11, 'a string cannot contain a line break or another control character; escape it'],
  ['{"a": "\\x"}', 1, 8, 'this escape sequence does not exist'],
  ['{"a": [1, 2', 1, 12, 'the text ends before the JSON is complete'],
  ['{} {}', 1, 4, 'there is more text after the end of the JSON'],
])('%j: line %d, column %d', (text, line, column, reason) => {
  expect(jsonFault(text)).toEqual({ line, column, reason });
});
