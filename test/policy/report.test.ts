import { expect, test } from 'bun:test';
import { Report } from '../../src/policy/report/report.ts';

const place = (line: number) => ({ file: 'p.yaml', line, column: 1, length: 1 });

test('a load lists at most 1,000 errors and 1,000 warnings, and also fails if a later phase finds the error', () => {
  const report = new Report();
  for (let line = 1; line <= 3_000; line++) report.add('misspelt-value', place(line), 'a warning');
  expect([report.sorted().length, report.failed]).toEqual([1_000, false]);
  const later = new Report(report.found);
  later.add('misspelt-value', place(1), 'another warning');
  for (let line = 1; line <= 3_000; line++) later.add('unknown-key', place(line), 'an error');
  expect([later.sorted().length, later.failed]).toEqual([2_000, true]);
});

test('if a policy declares no names of a kind, the diagnostic of an unknown name says so, and where to declare such a name', () => {
  const report = new Report();
  report.addUnknown('team', 'search', [], place(1));
  report.addUnknown('preset', 'fast', [], place(2));
  expect(report.sorted().map(({ expected, hint }) => [expected, hint])).toEqual([
    [undefined, 'there are no teams yet: declare it in `teams`'],
    [undefined, 'there are no presets yet'],
  ]);
});

test('a load compares names for hints at most 50,000 times, and reports later unknown names without hints', () => {
  const report = new Report();
  const known = Array.from({ length: 1_000 }, (_, at) => `model-${at}`);
  for (let line = 1; line <= 100; line++) report.addUnknown('model', 'modle-1', known, place(line));
  const hinted = report.sorted().filter(({ hint }) => hint !== undefined);
  expect(report.sorted()).toHaveLength(100);
  expect(hinted.map(({ line }) => line)).toEqual(Array.from({ length: hinted.length }, (_, at) => at + 1));
  expect(hinted.length).toBeGreaterThanOrEqual(49);
  expect(hinted.length).toBeLessThanOrEqual(51);
});
