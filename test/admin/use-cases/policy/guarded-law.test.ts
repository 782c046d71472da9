import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type GuardedChange, guardedChanges } from '../../../../src/admin/use-cases/policy/guarded.ts';
import type { Outline } from '../../../../src/policy/runtime/diff.ts';
import { parseFiles } from '../../../../src/policy/runtime/parse-files.ts';
import { tries } from '../../../deep/effort.ts';
import {
  BASE,
  type Data,
  editedBy,
  type Form,
  forms,
  GUARDED,
  names,
  ORDINARY,
  PLAIN,
  written,
} from './guarded-edits.ts';

async function outlineOf(policy: Data, form: Form): Promise<Outline> {
  const { outline } = await parseFiles(written(policy, form), null);
  return JSON.parse(outline);
}

type Judge = (before: Outline, after: Outline) => readonly GuardedChange[];

/** An edit is guarded exactly if it contains a guarded change, whatever else it contains and however it is written. */
const law = (judge: Judge, numRuns: number) =>
  fc.check(
    fc.asyncProperty(names(GUARDED, 0), names(ORDINARY, 0), forms, async (guarded, ordinary, form) => {
      const found = judge(await outlineOf(BASE, PLAIN), await outlineOf(editedBy(ordinary, guarded), form));
      return found.length > 0 === guarded.length > 0;
    }),
    { numRuns, seed: 47, endOnFailure: true },
  );

const NAME = 'a guarded change is always recognized, in any form, and an ordinary change never counts as guarded';
test(NAME, async () => {
  const { failed, counterexample, seed } = await law(guardedChanges, tries(NAME, 120, 5_000).numRuns);
  expect([failed, counterexample, seed]).toEqual([false, null, 47]);
});

/** Checks that compare less than they must. */
const MUTANTS: Readonly<Record<string, Judge>> = {
  'addresses alone': (a, b) => guardedChanges(a, b).filter(({ key }) => key === 'base_url'),
  'no new sections': (a, b) => guardedChanges(a, b).filter(({ section }) => Object.hasOwn(a, section)),
  'no new items': (a, b) => guardedChanges(a, b).filter(({ key, section }) => key !== null || section !== 'providers'),
  'any difference of texts': (a, b) =>
    JSON.stringify(a) === JSON.stringify(b) ? [] : [{ section: '', name: null, key: null, why: '', by: 'owner' }],
};

test.each(Object.keys(MUTANTS))('the law of guarded edits detects a check that compares only %s', async (name) => {
  expect((await law(MUTANTS[name]!, 5_000)).failed).toBe(true);
});

test.each(Object.keys(GUARDED))('%s is guarded alone', async (name) => {
  const found = guardedChanges(await outlineOf(BASE, PLAIN), await outlineOf(GUARDED[name]!(BASE), PLAIN));
  expect(found.length).toBeGreaterThan(0);
});
