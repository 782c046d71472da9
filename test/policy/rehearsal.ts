import { shipped } from '../../plugins/index.ts';
import { rehearse } from '../../src/admin/use-cases/policy/rehearse.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { compilePolicy, type ParsedPolicy, type PolicyFile, parsePolicy } from '../../src/policy/load.ts';
import { formatDiagnostics } from '../../src/policy/report/diagnostics.ts';
import { buildRuntime } from '../../src/policy/runtime/runtime.ts';

/** Loads files with the shipped plugins and runs the policy's own test cases. Returns the printed diagnostics. */
export async function rehearsed(
  files: readonly PolicyFile[],
  get: (name: string) => string | undefined,
  parsed: ParsedPolicy = parsePolicy(files),
): Promise<string> {
  const registry = createRegistry(shipped);
  const context = { env: { get }, ...registry, revisionOf: (content: string) => content };
  const { snapshot, diagnostics } = compilePolicy(parsed, context);
  if (!snapshot) return formatDiagnostics(diagnostics, files);
  const steps = rehearse(buildRuntime(snapshot, registry, { get }));
  let step = steps.next();
  while (!step.done) {
    await step.value;
    step = steps.next();
  }
  return formatDiagnostics([...diagnostics, ...step.value], files);
}
