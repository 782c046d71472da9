import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { isMap, isScalar, isSeq, parseDocument, stringify } from 'yaml';
import { helpFor, wordsAt } from '../../src/console/views/policies/editor/policy-words.ts';
import { placeAt } from '../../src/console/views/policies/editor/yaml-place.ts';
import { tries } from '../deep/effort.ts';

/** Tests the editor's pure functions: the position of the cursor, and the words that can be completed there. */
const NAME = 'the editor and the YAML parser agree on the position of the cursor';

const key = fc.constantFrom('name', 'models', 'price', 'on', 'a-b', 'x.y', 'long_key');
const scalar = fc.oneof(
  fc.constantFrom('eu', 'time.hour >= 22', 'a: b', '# no comment', "it's", 'x}', '[y', 'two words', 'line\nline', ''),
  fc.integer(),
  fc.boolean(),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, scalar, tie('map'), tie('list')),
  map: fc.dictionary(key, tie('value'), { minKeys: 1, maxKeys: 4 }),
  list: fc.array(tie('value'), { minLength: 1, maxLength: 3 }),
}));
const document = fc.record({
  data: fc.dictionary(key, value, { minKeys: 1, maxKeys: 4 }),
  isFlow: fc.boolean(),
  indent: fc.constantFrom(2, 4),
});

interface Expected {
  readonly offset: number;
  readonly from: number;
  readonly path: string;
}

/** The ends of keys and the starts of their plain values, according to the YAML parser. */
function placesIn(node: unknown, path: readonly (string | null)[] = []): Expected[] {
  if (isSeq(node)) return node.items.flatMap((item) => placesIn(item, [...path, null]));
  if (!isMap(node)) return [];
  return node.items.flatMap(({ key, value }) => {
    if (!isScalar(key) || !key.range) return [];
    const [from, offset] = key.range;
    const below = [...path, String(key.value)];
    const places = [{ offset, from, path: JSON.stringify([path, false]) }, ...placesIn(value, below)];
    if (!isScalar(value) || !value.range || value.type?.startsWith('BLOCK')) return places;
    const [start] = value.range;
    return [...places, { offset: start, from: start, path: JSON.stringify([below, true]) }];
  });
}

const textOf = ({
  data,
  isFlow,
  indent,
}: {
  readonly data: unknown;
  readonly isFlow: boolean;
  readonly indent: number;
}): string => stringify(data, { indent, lineWidth: 0, collectionStyle: isFlow ? 'flow' : 'any' });

test(`${NAME}, at each key and each value, in blocks and in brackets`, () => {
  const law = (place: typeof placeAt) =>
    fc.property(document, (drawn) => {
      const text = textOf(drawn);
      return placesIn(parseDocument(text).contents).every(({ offset, from, path }) => {
        const found = place(text, offset);
        return found !== null && found.from === from && JSON.stringify([found.path, found.isValue]) === path;
      });
    });
  fc.assert(law(placeAt), tries(NAME, 100, 20_000));
  // This mutant confuses an entry of a list with the list.
  const flat: typeof placeAt = (text, offset) => {
    const found = placeAt(text, offset);
    return found && { ...found, path: found.path.filter((step) => step !== null) };
  };
  expect(fc.check(law(flat), { ...tries(NAME, 400, 20_000), endOnFailure: true }).failed).toBe(true);
});

const SCHEMA: unknown = JSON.parse(readFileSync(join(import.meta.dir, '../../policies/policy.schema.json'), 'utf8'));

/** The words that can be completed at `|` in a text. */
function wordsIn(marked: string): readonly string[] {
  const offset = marked.indexOf('|');
  const place = placeAt(marked.replace('|', ''), offset);
  return place ? wordsAt(SCHEMA, place).map(({ label }) => label) : [];
}

describe('the words that the editor completes', () => {
  test.each([
    ['|', ['models', 'providers', 'budgets', 'cases'], ['name']],
    ['budgets:\n  - |', ['name', 'limit_credits', 'window'], ['models']],
    ['budgets:\n  - name: day\n    |\n', ['limit_credits', 'window'], ['models']],
    ['budgets:\n  - { name: day, |', ['limit_credits', 'window'], ['models']],
    ['budgets:\n  - { name: day, window: |', ['day', 'month'], ['name']],
    ['providers:\n  north:\n    |', ['adapter', 'preset', 'base_url'], ['models']],
    ['providers:\n  north:\n    adapter: |', ['simulated', 'openai'], ['preset']],
    ['providers:\n  north:\n    base_url: https://x\n    |', ['adapter'], ['base_url_env']],
    ['models:\n  luna:\n    price: { |', ['input', 'output'], ['provider']],
    ['models:\n  luna:\n    capabilities:\n      - |', ['tools'], ['provider']],
    ['models:\n  luna:\n    capabilities: [ |', ['tools'], ['provider']],
    ['# cases: |', [], ['models']],
    ['models: { never: closed\nproviders:\n  |', [], ['models']],
  ])('%j', (text, there, absent) => {
    const words = wordsIn(text);
    expect(there.filter((word) => !words.includes(word))).toEqual([]);
    expect(absent.filter((word) => words.includes(word))).toEqual([]);
  });

  test('are the settings of the adapter that the provider names', () => {
    const at = (adapter: string) => wordsIn(`providers:\n  north:\n    adapter: ${adapter}\n    settings:\n      |`);
    expect(at('anthropic')).not.toEqual(at('simulated'));
    expect(at('openai').length).toBeGreaterThan(0);
  });

  test('a key shows its description', () => {
    const text = 'credits:\n  usd_per_credit';
    const place = placeAt(text, text.length);
    expect(place && helpFor(SCHEMA, place, 'usd_per_credit')).toContain('USD that one Credit is worth');
  });
});
