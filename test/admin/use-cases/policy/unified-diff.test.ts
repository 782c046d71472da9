import { afterAll, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { unifiedDiff } from '../../../../src/admin/use-cases/policy/unified-diff.ts';
import { atOnce } from '../../../../src/policy/report/steps.ts';
import type { FileEdit } from '../../../../src/policy/runtime/write-edit.ts';
import { temporaryFolder } from '../../../support/signalbox.ts';

const home = temporaryFolder();
afterAll(() => rmSync(home, { recursive: true, force: true }));
let folders = 0;

/** Returns the files after `git apply` of a patch. */
function applied(changes: readonly FileEdit[], patch: string): (string | null)[] {
  const folder = join(home, `${folders++}`);
  mkdirSync(folder);
  for (const { name, before } of changes) if (before !== null) writeFileSync(join(folder, name), before);
  if (patch !== '') {
    const { exitCode, stderr } = Bun.spawnSync(['git', 'apply', '--whitespace=nowarn', '-'], {
      cwd: folder,
      stdin: Buffer.from(patch),
      env: { ...process.env, GIT_DIR: '/nowhere', GIT_CEILING_DIRECTORIES: home },
    });
    expect([exitCode, stderr.toString()]).toEqual([0, '']);
  }
  return changes.map(({ name }) => {
    const path = join(folder, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : null;
  });
}

const line = fc.constantFrom('a: 1', 'b: 2', '  c: {}', '', '# é', 'x\r', '-', '+ d', '\\ e', '@@ f', '\tg');
const text = fc
  .tuple(fc.array(line, { maxLength: 24 }), fc.boolean())
  .map(([lines, isEnded]) => lines.join('\n') + (isEnded && lines.length > 0 ? '\n' : ''));
const change = fc
  .record({ name: fc.constantFrom('a.yaml', 'b c.yaml', 'é".yaml'), before: fc.option(text), after: fc.option(text) })
  .filter(({ before, after }) => before !== null || after !== null);
const changes = fc.uniqueArray(change, { selector: ({ name }) => name, minLength: 1, maxLength: 3 });

test('`git apply` with the patch produces the new texts', () => {
  const property = fc.property(changes, (some) => {
    expect(applied(some, atOnce(unifiedDiff(some)))).toEqual(some.map(({ after }) => after));
  });
  fc.assert(property, { numRuns: 120, seed: 47, endOnFailure: true });
});

test('a patch of a large text contains only the lines that differ', () => {
  const lines = Array.from({ length: 5_000 }, (_, at) => `key-${at}: ${at}\n`);
  const after = lines.with(40, 'other: 1\n').with(4_000, 'other: 2\n').join('');
  const patch = atOnce(unifiedDiff([{ name: 'a.yaml', before: lines.join(''), after }]));
  expect(patch.split('\n').filter((one) => /^[-+][^-+]/.test(one)).length).toBe(4);
  const rewritten = lines.map((one) => `x${one}`).join('');
  const both = [{ name: 'a.yaml', before: lines.join(''), after: rewritten }];
  expect(applied(both, atOnce(unifiedDiff(both)))).toEqual([rewritten]);
});
