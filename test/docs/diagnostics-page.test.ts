import { describe, expect, test } from 'bun:test';
import { DIAGNOSTICS } from '../../src/policy/report/diagnostics.ts';
import { loadGolden } from '../policy/golden.ts';
import { DIAGNOSED } from './diagnostics-page.ts';

describe('docs/policies/diagnostics.md', () => {
  test('the page has exactly one example for every code', () => {
    const codes: readonly string[] = DIAGNOSED.map(([code]) => code);
    expect([...codes].sort()).toEqual(Object.keys(DIAGNOSTICS).sort());
  });

  for (const [code, { golden, correction }] of DIAGNOSED) {
    test(`the page has an example that causes ${code}, and a correction that fixes it`, () => {
      const before = loadGolden(golden).diagnostics;
      const [first] = before.filter((found) => found.code === code);
      expect(first).toBeDefined();
      if (!correction) return;
      const after = loadGolden(golden, (text) => text.replace(...correction)).diagnostics;
      const told = ({ code: said, message }: (typeof before)[number]) => `${said} ${message}`;
      const known = new Set(before.map(told));
      // The correction removes the diagnostic and causes no other.
      expect(after.map(told)).not.toContain(told(first!));
      expect(after.map(told).filter((each) => !known.has(each))).toEqual([]);
    });
  }
});
