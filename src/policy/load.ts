import type { PolicySnapshot } from '../core/snapshot.ts';
import { compile } from './compile.ts';
import { type Diagnostic, type DiagnosticCode, Report } from './diagnostics.ts';
import { deepFreeze } from './freeze.ts';
import { mergeFiles } from './merge.ts';
import { type PolicyFile, parseFile } from './parse.ts';
import type { Environment, Providers, Strategies } from './scope.ts';
import { findSecrets } from './secrets.ts';

export type { PolicyFile } from './parse.ts';
export type { Environment } from './scope.ts';

/** What a policy is loaded against. */
export interface LoadContext {
  readonly env: Environment;
  /** The installed plugins by name. Their option schemas are checked, and `prepare` is tried, with places. */
  readonly strategies: Strategies;
  readonly providers: Providers;
  /**
   * Names a content: a hash. Gets the texts of the files and what the environment made of them
   * (which providers lack a variable, which addresses are in force), never a secret.
   */
  revisionOf(content: string): string;
}

export type LoadResult =
  | {
      readonly snapshot: PolicySnapshot;
      /** Warnings only. */
      readonly diagnostics: readonly Diagnostic[];
    }
  | { readonly snapshot: null; readonly diagnostics: readonly Diagnostic[] };

const SEEM_MISSING: ReadonlySet<DiagnosticCode> = new Set(['unknown-reference', 'no-version', 'no-models']);

/**
 * Turns the files of a policy into a frozen snapshot, or into all that is wrong with them,
 * sorted by file, line and column. Pure: the order of the files does not matter.
 */
export function loadPolicy(files: readonly PolicyFile[], context: LoadContext): LoadResult {
  const report = new Report();
  const ordered = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const trees = ordered.map((file) => parseFile(file, report)).filter((tree) => tree !== null);
  for (const tree of trees) findSecrets(tree, report);
  const sections = mergeFiles(trees, report);
  const start = { file: ordered[0]?.path ?? 'policies', line: 1, column: 1, length: 1 };
  const { env, strategies, providers } = context;
  const compiled = compile({ env, strategies, providers, sections, report, start });
  // What seems to be missing may stand in a file that cannot be read.
  const isPartial = trees.length < ordered.length;
  const diagnostics = report.sorted().filter((found) => !(isPartial && SEEM_MISSING.has(found.code)));
  if (!compiled || report.failed) return { snapshot: null, diagnostics };
  const content = JSON.stringify([ordered.map((file) => file.text), compiled.environment]);
  const snapshot = deepFreeze({ revision: context.revisionOf(content), ...compiled.snapshot });
  return { snapshot, diagnostics };
}
