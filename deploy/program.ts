import { join } from 'node:path';
import type { ProgramForm } from '../src/host/program.ts';
import { commitOf } from '../src/server/version.ts';

/** The parts that the builds of the binary and of the package share. */

export const ROOT = join(import.meta.dir, '..');

/** The program and its workers. The program starts workers by file name, so a build has all of them in one folder. */
const ENTRIES = [
  'src/main.ts',
  'src/policy/runtime/parse-worker.ts',
  'src/server/audit-worker.ts',
  'src/store/sqlite/examine-worker.ts',
  'src/providers/tokenizer/count-worker.ts',
  'src/tools/plugin/trial-worker.ts',
];

/**
 * Options of `Bun.build` for the program.
 * @param commit the first digits of the commit, empty if it is not known
 */
export const programBuild = (form: Exclude<ProgramForm, 'sources'>, commit: string) =>
  ({
    entrypoints: ENTRIES,
    target: 'bun',
    // A command then loads only the part of the program that it needs.
    splitting: true,
    format: 'esm',
    naming: { entry: '[name].[ext]', chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
    minify: { syntax: true, whitespace: true },
    define: {
      // The build must not replace NODE_ENV, because its value is known only at run time.
      'process.env.NODE_ENV': 'process.env.NODE_ENV',
      BUILT_COMMIT: JSON.stringify(commit),
      BUILT_AS: JSON.stringify(form),
    },
  }) satisfies Bun.BuildConfig;

/** Runs a command. @throws Error with its messages if it fails */
export function run(...command: readonly string[]): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync([...command]);
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed: ${`${stdout}${stderr}`.trim()}`);
  return stdout.toString().trim();
}

/** Returns the commit of these sources, with `.dirty` if git finds changed files. */
export function commitHere(): string {
  const commit = commitOf(ROOT);
  try {
    return commit !== '' && run('git', '-C', ROOT, 'status', '--porcelain', '-uno') !== '' ? `${commit}.dirty` : commit;
  } catch {
    return commit;
  }
}
