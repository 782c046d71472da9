import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dir, '../..');
/** A test takes its number of runs from one of these functions. */
const TAKES_RUNS = /import \{[^}]*\b(?:tries|effort)\b[^}]*\} from '[^']*\/effort\.ts'/;
const transpiler = new Bun.Transpiler({ loader: 'ts' });

/** Returns the paths of the test files whose number of runs grows in `npm run test:deep`, by themselves or by a law that they import. */
export function lawFiles(): string[] {
  const known = new Map<string, boolean>();
  const takesRuns = (file: string): boolean => {
    const before = known.get(file);
    if (before !== undefined) return before;
    known.set(file, false);
    const text = readFileSync(file, 'utf8');
    const takes =
      TAKES_RUNS.test(text) || transpiler.scanImports(text).some(({ path }) => isLaw(join(file, '..', path)));
    known.set(file, takes);
    return takes;
  };
  const isLaw = (file: string): boolean => isTest(file) && takesRuns(file);
  return [...new Bun.Glob('test/**/*.test.ts').scanSync(ROOT)]
    .filter((file) => !file.includes('/node_modules/') && takesRuns(join(ROOT, file)))
    .sort();
}

/** Modules of the product import no tests, and `deeply` is for the section `costly`. */
const isTest = (file: string): boolean => /^test\/(?!deep\/)/.test(relative(ROOT, file)) && file.endsWith('.ts');
