import { describe, expect, test } from 'bun:test';
import { DIALECTS, FAULTS, FORMS, outcomeOf } from './faults.ts';
import { isFinal, KINDS, VERDICTS } from './outcome.ts';
import { AGAIN, type Case, casesOf } from './stage.ts';
import { hasTools, SURFACES } from './surfaces.ts';

const CASES = SURFACES.flatMap(casesOf);

const nameOf = ({ fault, surface, dialect, form }: Pick<Case, 'fault' | 'surface' | 'dialect' | 'form'>): string =>
  `${fault.name} ${surface.name} ${dialect.name} ${form}`;

/** Invariants of the table of faults. */
describe('the table of faults', () => {
  test('the table of faults has each fault and each case once', () => {
    expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length);
    const ids = [...CASES, ...AGAIN.flatMap(({ alone, beside }) => [alone, beside])].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('the table of faults has each fault in each pair of dialects and each form, except where it does not apply', () => {
    const played = new Set(CASES.map(nameOf));
    const all = FAULTS.flatMap((fault) =>
      SURFACES.flatMap((surface) =>
        (surface.wires ?? DIALECTS).flatMap((dialect) => FORMS.map((form) => ({ fault, surface, dialect, form }))),
      ),
    );
    const left = all.filter((one) => !played.has(nameOf(one)));
    const isShown = ({ fault, surface, dialect, form }: (typeof all)[number]) =>
      outcomeOf(fault, form, dialect) !== null &&
      !(fault.isUnruly && surface.passes === dialect.name) &&
      (fault.tool === undefined || hasTools(surface));
    expect(left.filter(isShown)).toEqual([]);
    expect(left.length).toBeLessThan(all.length / 50);
  });

  test('the table of faults has exceptions only where a dialect differs', () => {
    const excepted = FAULTS.flatMap((fault) => Object.values(fault.except ?? {}).map((own) => ({ fault, own })));
    const idle = excepted.filter(({ fault, own: { json = fault.json, stream = fault.stream } }) =>
      Bun.deepEquals({ json, stream }, { json: fault.json, stream: fault.stream }),
    );
    expect(idle).toEqual([]);
  });

  test('the table of faults cuts no JSON answer, because another endpoint can still answer', () => {
    expect(CASES.filter(({ form, outcome }) => form === 'JSON' && outcome.ends === 'cut')).toEqual([]);
  });

  test('the table of faults blames the caller only for refused content', () => {
    const blamed = new Set(CASES.filter(({ outcome }) => isFinal(outcome)).map(({ fault }) => fault.name));
    expect([...blamed]).toEqual(['400', 'key echoed in a 400']);
  });

  test('the table of faults shows every kind of failure', () => {
    const shown = FAULTS.map((fault) => [fault.name, fault.json] as const);
    for (const kind of KINDS) {
      const [, outcome] = shown.find(([name]) => name === VERDICTS[kind].shownBy) ?? [];
      expect(outcome).toMatchObject({ ends: 'failed', kind });
    }
  });
});
