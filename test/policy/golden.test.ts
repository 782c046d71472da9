import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineStrategy, Type } from '../../src/contract/plugin.ts';
import type { LedgerState } from '../../src/core/budget.ts';
import { type CaseFailure, caseDiagnostics } from '../../src/policy/case-diagnostics.ts';
import { DIAGNOSTICS, formatDiagnostics } from '../../src/policy/diagnostics.ts';
import type { LoadedPlugin, PolicyFile } from '../../src/policy/load.ts';
import { load } from './support.ts';

/**
 * Each folder of `golden/` is a policy with something wrong, and `expected.txt` what is said about it.
 * `UPDATE=1 bun test test/policy/golden.test.ts` writes what is said now.
 */
const ROOT = join(import.meta.dir, 'golden');
const BASE = { path: 'base.yaml', text: readFileSync(join(ROOT, 'base.yaml'), 'utf8') };

/** What a case may say beside its policy files. */
interface Surroundings {
  readonly variables?: Record<string, string>;
  readonly today?: string;
  /** False: `base.yaml` is not loaded beside it. */
  readonly base?: boolean;
  /** Files that cannot be read. */
  readonly problems?: PolicyFile[];
  /** Specifier → the message of an error, or the names of the strategies that it brings. */
  readonly plugins?: Record<string, string | string[]>;
  /** The state of the ledger. */
  readonly ledger?: LedgerState;
  /** What a rehearsal found. */
  readonly failures?: CaseFailure[];
}

const strategy = (name: string) =>
  defineStrategy({
    name,
    status: 'alpha',
    options: Type.Object({ greed: Type.Number({ minimum: 0, maximum: 1, default: 0.5 }) }),
    prepare: () => ({ reason: name, score: () => {} }),
  });

function diagnosticsOf(folder: string) {
  const names = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.yaml'));
  const at = join(ROOT, folder, 'env.json');
  const around: Surroundings = existsSync(at) ? JSON.parse(readFileSync(at, 'utf8')) : {};
  const files: PolicyFile[] = [
    ...names.map((name) => ({ path: name, text: readFileSync(join(ROOT, folder, name), 'utf8') })),
    ...(around.problems ?? []),
    ...(around.base === false ? [] : [BASE]),
  ];
  const loaded = Object.entries(around.plugins ?? {}).map(([specifier, brings]): [string, LoadedPlugin] => [
    specifier,
    typeof brings === 'string' ? new Error(brings) : brings.map(strategy),
  ]);
  const more = { plugins: new Map(loaded), ...(around.today && { today: around.today }), ledger: around.ledger };
  const { diagnostics } = load(files, around.variables ?? {}, more);
  return { files, diagnostics: [...diagnostics, ...caseDiagnostics(around.failures ?? [])] };
}

const folders = readdirSync(ROOT, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();
const found = new Map(folders.map((folder) => [folder, diagnosticsOf(folder)]));

describe('what is said about a policy that is wrong', () => {
  for (const [folder, { diagnostics, files }] of found) {
    test(folder, () => {
      const said = `${formatDiagnostics(diagnostics, files)}\n`;
      const at = join(ROOT, folder, 'expected.txt');
      if (process.env.UPDATE) writeFileSync(at, said);
      expect(said).toBe(existsSync(at) ? readFileSync(at, 'utf8') : '');
      expect(diagnostics.length).toBeGreaterThan(0);
    });
  }
});

test('at least 60 different situations are shown', () => {
  const said = new Set([...found.values()].map(({ diagnostics, files }) => formatDiagnostics(diagnostics, files)));
  expect(said.size).toBe(folders.length);
  expect(said.size).toBeGreaterThanOrEqual(60);
});

test('every code of the table is shown', () => {
  const shown = new Set([...found.values()].flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code)));
  expect(Object.keys(DIAGNOSTICS).filter((code) => !shown.has(code as keyof typeof DIAGNOSTICS))).toEqual([]);
});

test('the base alone is right', () => {
  expect(load([BASE]).diagnostics).toEqual([]);
});
