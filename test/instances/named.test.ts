import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { patchedFiles } from '../../bench/steps.ts';
import { MUTANTS } from './mutants.ts';
import { INCIDENTS, NAMED } from './named.ts';

const ROOT = join(import.meta.dir, '../..');

test.each([...NAMED, ...INCIDENTS].map((named) => [named.what, named] as const))(
  'there is one test of %s',
  (_, { file, test: name }) => {
    const text = existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file), 'utf8') : '';
    // Its name may stand in a constant.
    expect(text.split(new RegExp(`['\`]${RegExp.escape(name)}`)).length - 1).toBe(1);
  },
);

test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
  'a mutant fits the source as it is: %s',
  (name, { patches }) => {
    const transpiler = new Bun.Transpiler({ loader: 'ts' });
    const files = patchedFiles({ kind: 'without', name, patches });
    for (const text of files.values()) expect(() => transpiler.transformSync(text)).not.toThrow();
  },
);
