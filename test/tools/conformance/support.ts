import { expect, test } from 'bun:test';
import type { Law } from '../../../src/tools/conformance/law.ts';

export const RUN_OPTIONS = { seed: 1, runs: 300 };

/** Tests that a correct subject keeps every law, and that each mutant breaks the law under which it is listed. */
export function testMutants<Subject>(
  laws: readonly Law<Subject>[],
  sound: Subject,
  mutants: Readonly<Record<string, readonly (readonly [string, Subject])[]>>,
): void {
  test('a correct plugin keeps every law', () => {
    const broken = laws
      .map((law) => law.try(sound, { ...RUN_OPTIONS, runs: 60 }))
      .filter(({ outcome }) => outcome === 'broken');
    expect(broken).toEqual([]);
  });

  test('every law has a mutant that breaks it', () => {
    expect(Object.keys(mutants).sort()).toEqual(laws.map(({ name }) => name).sort());
  });

  for (const [name, all] of Object.entries(mutants)) {
    for (const [mistake, subject] of all) {
      test(`${name}: finds a plugin that ${mistake}, and describes the case`, () => {
        const law = laws.find((one) => one.name === name);
        const { outcome, fault, example } = law?.try(subject, RUN_OPTIONS) ?? {};
        expect([mistake, outcome === 'broken' || outcome === 'note']).toEqual([mistake, true]);
        expect(fault).toBeTruthy();
        expect(example).toBeTruthy();
      });
    }
  }
}
