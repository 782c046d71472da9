import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DIAGNOSTICS, formatDiagnostics } from '../../src/policy/report/diagnostics.ts';
import { BASE, GOLDEN, loadGolden } from './golden.ts';
import { load } from './support.ts';

/** `UPDATE=1 bun test test/policy/golden.test.ts` writes the current output. */
const folders = readdirSync(GOLDEN, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();
const found = new Map(folders.map((folder) => [folder, loadGolden(folder)]));

describe('the diagnostics of a policy with mistakes', () => {
  for (const [folder, { diagnostics, files }] of found) {
    test(folder, () => {
      const output = `${formatDiagnostics(diagnostics, files)}\n`;
      const at = join(GOLDEN, folder, 'expected.txt');
      if (process.env.UPDATE) writeFileSync(at, output);
      expect(output).toBe(existsSync(at) ? readFileSync(at, 'utf8') : '');
      expect(diagnostics.length).toBeGreaterThan(0);
    });
  }
});

test('the golden policies cover at least 60 situations', () => {
  const outputs = new Set([...found.values()].map(({ diagnostics, files }) => formatDiagnostics(diagnostics, files)));
  expect(outputs.size).toBe(folders.length);
  expect(outputs.size).toBeGreaterThanOrEqual(60);
});

test('the golden policies cover every diagnostic code', () => {
  const shown = new Set<string>([...found.values()].flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code)));
  expect(Object.keys(DIAGNOSTICS).filter((code) => !shown.has(code))).toEqual([]);
});

test('the base policy has no diagnostics', () => {
  expect(load([BASE]).diagnostics).toEqual([]);
});
