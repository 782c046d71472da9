import { describe, expect, test } from 'bun:test';
import { shipped } from '../../plugins/index.ts';
import { REDACTIONS } from '../../src/core/policy/content.ts';
import { TOKENIZERS } from '../../src/core/request/tokenizer.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';
import { environmentOf } from '../../src/policy/cel/types.ts';
import { effort, isDeep, someOf } from '../deep/effort.ts';
import { load, SMALL } from '../policy/support.ts';
import { GROWTH_MAX, type GrowthOptions, growthOf, type Shape } from '../support/in-time.ts';
import { WORST_EXPRESSIONS } from './worst/expressions.ts';
import { guardReaders, WORST_GUARDS, WORST_SERVICES } from './worst/guards.ts';
import { expressionReaders, finderReaders, importReaders, otherReaders, tokenReaders } from './worst/others.ts';
import { policyReaders } from './worst/policies.ts';
import type { WorstReader } from './worst/reader.ts';
import { adapterReaders, IMPORTERS, surfaceReaders, WORST_BODIES, writerReaders } from './worst/readers.ts';
import { WORST_IMPORTS, WORST_TEXTS, WORST_TOKENS } from './worst/texts.ts';

/**
 * Each reader of bytes from callers or services must take time in proportion to their number, so that one small request cannot stop the
 * server. Eight times the input may take at most twenty times as long. Quadratic time would take 64 times as long.
 */
const { runs: leastMs, proved } = effort('holes', 0, 2);
const OPTIONS: GrowthOptions = { leastMs, partsMax: isDeep ? 4_096 : 128 };
const TIMEOUT_MS = 600_000;

const READERS: readonly WorstReader[] = [
  ...surfaceReaders,
  ...writerReaders,
  ...adapterReaders,
  ...finderReaders,
  ...importReaders,
  ...expressionReaders,
  ...tokenReaders(),
  ...policyReaders,
  ...otherReaders,
  ...guardReaders,
];

/** `npm test` takes every other shape of each reader. Neighbouring readers have the same shapes and take different ones. */
const TRIED = READERS.map((reader, nth) => ({
  ...reader,
  shapes: Object.entries(reader.shapes).filter((_, at, { length }) => isDeep || length === 1 || (at + nth) % 2 === 0),
}));

const nameOf = ({ name }: { readonly name: string }): string => name;

/** The entries of a registry without worst shapes. */
const without = (registry: readonly string[], worst: Readonly<Record<string, unknown>>): string[] =>
  registry.filter((name) => !Object.hasOwn(worst, name));

describe('worst shapes', () => {
  const functions = () => [...new Set(environmentOf('when').getDefinitions().functions.map(nameOf))];
  const registries: readonly (readonly [string, () => readonly string[], Readonly<Record<string, unknown>>])[] = [
    ['surface', () => SURFACES.map(nameOf), WORST_BODIES],
    ['finder', () => REDACTIONS, WORST_TEXTS],
    ['guard', () => shipped.filter(({ kind }) => kind === 'guard').map(nameOf), { ...WORST_GUARDS, ...WORST_SERVICES }],
    ['importer', () => IMPORTERS, WORST_IMPORTS],
    ['function of CEL', functions, WORST_EXPRESSIONS],
    ['tokenizer', () => TOKENIZERS, WORST_TOKENS],
  ];

  test.each(registries)('every %s has some', (_, registry, worst) => {
    expect(without(registry(), worst)).toEqual([]);
  });

  test('every reader has worst shapes', () => {
    expect(READERS.filter(({ shapes }) => Object.keys(shapes).length === 0).map(nameOf)).toEqual([]);
  });

  test('the test fails for a surface without worst shapes', () => {
    expect(without([...SURFACES.map(nameOf), 'my-chat'], WORST_BODIES)).toEqual(['my-chat']);
  });

  test('the worst shapes of CEL functions are conditions that a policy accepts; functions without one would take too long and are refused', () => {
    const errorsOf = (when: string) =>
      load([
        {
          path: 'p.yaml',
          text: `${SMALL}constraints: [{ name: r, max_cost_credits: 1, when: ${JSON.stringify(when)} }]\n`,
        },
      ]).diagnostics.filter(({ severity }) => severity === 'error');
    for (const written of Object.values(WORST_EXPRESSIONS)) if (written !== null) expect(errorsOf(written)).toEqual([]);
    for (const written of ['duration(request.user) > duration("1s")', 'request.user.matches("(a+)+b")'])
      expect(errorsOf(written)).not.toEqual([]);
  });
});

describe('eight times the input takes a reader at most twenty times as long', () => {
  const growths: number[] = [];

  test.each(TRIED)(
    '$name',
    async ({ shapes, partsMax = Number.POSITIVE_INFINITY, weight = 1 }) => {
      const options = { ...OPTIONS, partsMax: Math.min(OPTIONS.partsMax / weight, partsMax) };
      const found: string[] = [];
      for (const [what, shape] of shapes) {
        const growth = await growthOf(shape, options);
        growths.push(growth);
        if (growth >= GROWTH_MAX) found.push(`${what}: ${growth.toFixed(1)} times`);
      }
      expect(found).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test('for every shape', () => {
    const worst = Math.max(...growths);
    expect(worst).toBeLessThan(GROWTH_MAX);
    proved(
      `${READERS.length} readers of callers’ and services’ bytes, ${growths.length} worst shapes: eight times the input takes at most ${worst.toFixed(1)} times as long`,
    );
  });

  const squares: Readonly<Record<string, Shape>> = {
    'searches all earlier parts for each part': (parts) => () => {
      const seen: { readonly at: number }[] = [];
      for (let at = 0; at < parts; at++) if (seen.every((one) => one.at !== at)) seen.push({ at });
    },
    'copies everything so far with each part': (parts) => () => {
      let copy: readonly number[] = [];
      for (let at = 0; at < parts; at++) copy = [...copy, at];
    },
    'tries each position of a text': (parts) => {
      const text = 'a.'.repeat(parts);
      return () => /\b(?:[a-z]+\.)+:/.test(text);
    },
  };
  for (const [what, square] of someOf(Object.entries(squares))) {
    test(`the law fails for a reader that ${what}`, async () => {
      expect(await growthOf(square, { leastMs: 0, partsMax: 512 })).toBeGreaterThanOrEqual(GROWTH_MAX);
    });
  }
});
