import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { isPlainName } from '../../../src/core/text/plain-name.ts';
import facts from '../../../src/policy/models/facts.json' with { type: 'json' };
import { seedOf, tries } from '../../deep/effort.ts';

const MORE = [
  'claude-opus-4@20250514',
  'ft:gpt-4o-mini:acme',
  'gpt-9 [1m]',
  '@cf/meta/llama-3',
  '文心一言',
  '',
  'maxTokens',
];

test('the names of public models are plain', () => {
  const names = Object.values<object>(facts.models).flatMap((rows) => Object.keys(rows));
  expect(names.length).toBeGreaterThan(100);
  expect([...names, ...MORE].filter((name) => !isPlainName(name))).toEqual([]);
});

const letter = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ');
const digit = fc.constantFrom(...'0123456789');
const mixed = fc
  .array(fc.tuple(letter, fc.string({ unit: letter, maxLength: 3 }), digit), { minLength: 3, maxLength: 8 })
  .map((parts) => `${parts.flat().join('')}x`);
const signed = fc
  .tuple(fc.string({ unit: letter, minLength: 1, maxLength: 9 }), fc.constantFrom(...'!#$%&*=?^~|'))
  .map(([word, sign]) => word + sign);
const address = fc.tuple(letter, mixed).map(([user, password]) => `https://${user}:${password}@db`);

/** A text that mixes letters and digits, has a sign that names do not have, or is an address. */
const law = (isPlain: (text: string) => boolean) =>
  fc.property(fc.oneof(mixed, signed, address), fc.constantFrom('', 'gpt-', 'my/'), (secret, before) => {
    expect(isPlain(before + secret)).toBeFalse();
  });

test('a text that mixes letters and digits, or has signs that no name has, is not plain', () => {
  fc.assert(law(isPlainName), tries('plain names', 300, 20_000));
});

test('the law of plain names notices a rule that looks only at the signs, and one that looks only at letters and digits', () => {
  const mutants = [(text: string) => /^[-\w./:@]+$/.test(text), (text: string) => !/\p{L}+\d+\p{L}+\d/u.test(text)];
  for (const mutant of mutants)
    expect(fc.check(law(mutant), { numRuns: 300, seed: seedOf('plain names') }).failed).toBeTrue();
});
