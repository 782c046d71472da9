import type { PolicySnapshot } from '../core/snapshot.ts';
import { type CompileContext, compile } from './compile.ts';
import type { Diagnostic, DiagnosticCode } from './diagnostics.ts';
import { deepFreeze } from './freeze.ts';
import type { ParsedPolicy } from './parsed.ts';
import { Report } from './report.ts';

export interface LoadContext extends CompileContext {
  /**
   * Hashes a content: the texts of the files and the effects of the environment (providers that lack a
   * variable, addresses in force). The content holds no secret.
   */
  revisionOf(content: string): string;
}

export interface LoadResult {
  /** Null if the policy has errors. */
  readonly snapshot: PolicySnapshot | null;
  /** Without errors, warnings only. */
  readonly diagnostics: readonly Diagnostic[];
}

const SEEM_MISSING: ReadonlySet<DiagnosticCode> = new Set([
  'unknown-reference',
  'no-version',
  'no-models',
  'credits-changed',
  'budget-renamed',
]);

/**
 * The second half of `loadPolicy` in steps, each well under 5 ms, so that a host can serve requests
 * between them. Yields nothing; returns the result.
 */
export function* compileSteps(parsed: ParsedPolicy, context: LoadContext): Generator<undefined, LoadResult> {
  const report = new Report(parsed.diagnostics);
  const compiled = yield* compile(parsed, context, report);
  // The missing part may be in a file that cannot be read.
  const diagnostics = report.sorted().filter((found) => !(parsed.isPartial && SEEM_MISSING.has(found.code)));
  if (!compiled || report.failed) return { snapshot: null, diagnostics };
  yield;
  const texts = parsed.files.map((file) => file.text);
  const revision = context.revisionOf(JSON.stringify([texts, compiled.environment]));
  return { snapshot: deepFreeze({ revision, ...compiled.snapshot }), diagnostics };
}
