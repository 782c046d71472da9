import { describe, expect, test } from 'bun:test';
import { FAULTS, FORMS, outcomeOf, SETTINGS } from './faults.ts';
import { LIST } from './list.ts';
import { isFinal, KINDS, VERDICTS } from './outcome.ts';
import { AGAIN, CASES } from './stage.ts';

/** What has to hold for the table itself, whatever the server does. */
describe('the table of faults', () => {
  test('has every fault of the list', () => {
    const has = new Set(FAULTS.map(({ of }) => of));
    expect(LIST.filter((item) => !has.has(item))).toEqual([]);
  });

  test('names each fault, and each case, once', () => {
    expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length);
    const ids = [...CASES, ...AGAIN.flatMap(({ alone, beside }) => [alone, beside])].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(CASES).toHaveLength(FAULTS.length * FORMS.length * SETTINGS.length);
  });

  test('cuts no answer that is given in one piece, for there somebody else can still answer', () => {
    expect(FAULTS.filter((fault) => outcomeOf(fault, 'JSON').ends === 'cut').map(({ name }) => name)).toEqual([]);
  });

  test('blames the caller for nothing but a refusal of the content', () => {
    const blamed = FAULTS.filter((fault) => FORMS.some((form) => isFinal(outcomeOf(fault, form))));
    expect(blamed.map(({ of }) => of)).toEqual(['400', 'key echoed in an error']);
  });

  test('shows every kind of failure', () => {
    const shown = FAULTS.map((fault) => [fault.name, fault.json] as const);
    for (const kind of KINDS) {
      const [, outcome] = shown.find(([name]) => name === VERDICTS[kind].shownBy) ?? [];
      expect(outcome).toMatchObject({ ends: 'failed', kind });
    }
  });
});
