import { expect, test } from 'bun:test';
import { CUTS } from '../../bench/step-patches.ts';
import { patchedFiles } from '../../bench/steps.ts';

test.each(CUTS.map((cut) => [cut.name, cut] as const))(
  'the benchmark’s patches fit the source as it is: %s',
  (_, cut) => {
    const transpiler = new Bun.Transpiler({ loader: 'ts' });
    for (const text of patchedFiles(cut).values()) expect(() => transpiler.transformSync(text)).not.toThrow();
  },
);
