import { expect, test } from 'bun:test';
import type { Law } from '../../src/conformance/law.ts';

export const EFFORT = { seed: 1, runs: 300 };

/** That a subject keeps every law, and that each deliberate mistake breaks the law that is there for it. */
export function killed<Subject>(
  laws: readonly Law<Subject>[],
  sound: Subject,
  mutants: Readonly<Record<string, readonly (readonly [string, Subject])[]>>,
): void {
  test('a sound one keeps every law', () => {
    const broken = laws
      .map((law) => law.try(sound, { ...EFFORT, runs: 60 }))
      .filter(({ outcome }) => outcome === 'broken');
    expect(broken).toEqual([]);
  });

  test('no law goes without a mistake that it finds', () => {
    expect(Object.keys(mutants).sort()).toEqual(laws.map(({ name }) => name).sort());
  });

  for (const [name, all] of Object.entries(mutants)) {
    for (const [mistake, subject] of all) {
      test(`${name}: one that ${mistake} is found out, with a case in words`, () => {
        const law = laws.find((one) => one.name === name);
        const { outcome, fault, example } = law?.try(subject, EFFORT) ?? {};
        expect([mistake, outcome === 'broken' || outcome === 'note']).toEqual([mistake, true]);
        expect(fault).toBeTruthy();
        expect(example).toBeTruthy();
      });
    }
  }
}
