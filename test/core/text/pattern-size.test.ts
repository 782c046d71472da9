import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { PATTERN_SIZE_MAX, patternSize } from '../../../src/core/text/linear-pattern.ts';
import { tries } from '../../deep/effort.ts';

test('ordinary patterns have far fewer steps than are possible', () => {
  for (const source of [
    '(?i)falcon-\\d+',
    '[A-Z]{2}\\d{6,12}',
    '\\b(?:project|codename)\\s+\\w{3,30}\\b',
    '\\Qa.b\\E+',
  ])
    expect(patternSize(source)).toBeLessThan(PATTERN_SIZE_MAX / 20);
});

/** Sources of patterns, most of which are valid. */
const sources = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      '.',
      '\\d',
      '\\pL',
      '\\p{Greek}',
      '\\x{41}',
      '\\Qa.b\\E',
      '[^]a-z]',
      '[[:alpha:]_]',
      '(',
      '(?:',
      '(?P<n>',
      '(?i)',
      ')',
      '|',
      '*',
      '+?',
      '?',
      '{3}',
      '{2,}',
      '{1,9}',
      '\\(',
      '^',
      '$',
      '\\b',
    ),
    { maxLength: 14 },
  )
  .map((parts) => parts.join(''));

test('the size of a pattern that is read from its source is never less than half of its compiled size', () => {
  fc.assert(
    fc.property(sources, (source) => {
      let size = 0;
      try {
        size = RE2JS.compile(source).programSize();
      } catch {
        return;
      }
      expect(2 * patternSize(source) + 8).toBeGreaterThanOrEqual(size);
    }),
    tries('pattern-sizes', 3_000, 200_000),
  );
});
