import { compileSteps, type LoadContext, type LoadResult } from './compile.ts';
import { type ParsedPolicy, parseWith } from './parse.ts';
import { atOnce } from './report/steps.ts';
import type { PolicyFile } from './yaml/parse.ts';
import { readYaml } from './yaml/reader.ts';

export type { LoadContext, LoadResult } from './compile.ts';
export type { Environment } from './define/environment.ts';
export type { ParsedPolicy } from './parse.ts';
export type { LoadedPlugin } from './providers/plugins.ts';
export type { FileProblem, PolicyFile } from './yaml/parse.ts';

/** Reads and checks the files of a policy, in any order. `parsePolicy` is pure. */
export const parsePolicy = (files: readonly PolicyFile[]): ParsedPolicy => parseWith(readYaml, files);

/**
 * Compiles the files of a policy to a frozen snapshot, or returns all their problems, sorted by file, line and column. `loadPolicy` is
 * pure. The order of the policy's files does not matter.
 */
export function loadPolicy(files: readonly PolicyFile[], context: LoadContext): LoadResult {
  return compilePolicy(parsePolicy(files), context);
}

/** Runs the second half of `loadPolicy`, without pauses. */
export function compilePolicy(parsed: ParsedPolicy, context: LoadContext): LoadResult {
  return atOnce(compileSteps(parsed, context));
}
