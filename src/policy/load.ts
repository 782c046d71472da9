import type { LedgerState } from '../core/budget.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { compile } from './compile.ts';
import type { Diagnostic, DiagnosticCode } from './diagnostics.ts';
import { deepFreeze } from './freeze.ts';
import type { PolicyFile } from './parse.ts';
import { type ParsedPolicy, parsePolicy } from './parsed.ts';
import type { InstalledPlugins, LoadedPlugin } from './plugins.ts';
import type { Environment } from './providers.ts';
import { Report } from './report.ts';

export type { FileProblem, PolicyFile } from './parse.ts';
export { type ParsedPolicy, parsePolicy } from './parsed.ts';
export type { LoadedPlugin } from './plugins.ts';
export type { Environment } from './providers.ts';

/** What a policy is loaded against: the installed plugins by name, and more. */
export interface LoadContext extends InstalledPlugins {
  readonly env: Environment;
  /** What loading the policy's own plugins gave, by specifier. Their option schemas are checked, and `prepare` is tried. */
  readonly plugins?: ReadonlyMap<string, LoadedPlugin>;
  /** Of plugins whose code is not all in the policy's folder, by specifier: the first file elsewhere, as seen from the folder. */
  readonly outside?: ReadonlyMap<string, string>;
  /** The day, as `2026-10-07`. Given, figures that are old or unverified are warned of, and languages that may be misspelt. */
  readonly today?: string;
  /** The ledger that the policy would spend from. Given, the policy must fit to it. */
  readonly ledger?: LedgerState;
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

const SEEM_MISSING: ReadonlySet<DiagnosticCode> = new Set([
  'unknown-reference',
  'no-version',
  'no-models',
  'credits-changed',
  'budget-renamed',
]);

/**
 * Turns the files of a policy into a frozen snapshot, or into all that is wrong with them,
 * sorted by file, line and column. Pure: the order of the files does not matter.
 */
export function loadPolicy(files: readonly PolicyFile[], context: LoadContext): LoadResult {
  return compilePolicy(parsePolicy(files), context);
}

/** The second half of `loadPolicy`, in one go. */
export function compilePolicy(parsed: ParsedPolicy, context: LoadContext): LoadResult {
  const steps = compileSteps(parsed, context);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/**
 * The second half of `loadPolicy` in steps, each well under 5 ms, so that a host can serve requests
 * between them. Yields nothing of use; the result is what it returns.
 */
export function* compileSteps(parsed: ParsedPolicy, context: LoadContext): Generator<undefined, LoadResult> {
  const report = new Report(parsed.diagnostics);
  const compiled = yield* compile(parsed, context, report);
  // What seems to be missing may stand in a file that cannot be read.
  const diagnostics = report.sorted().filter((found) => !(parsed.isPartial && SEEM_MISSING.has(found.code)));
  if (!compiled || report.failed) return { snapshot: null, diagnostics };
  yield;
  const texts = parsed.files.map((file) => file.text);
  const revision = context.revisionOf(JSON.stringify([texts, compiled.environment]));
  return { snapshot: deepFreeze({ revision, ...compiled.snapshot }), diagnostics };
}
