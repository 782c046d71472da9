import { shipped } from '../../plugins/index.ts';
import { rehearse } from '../../src/operate/policy/rehearse.ts';
import { createRegistry } from '../../src/plugin-host/registry.ts';
import { type Diagnostic, formatDiagnostics } from '../../src/policy/diagnostics.ts';
import { loadPolicy, type PolicyFile } from '../../src/policy/load.ts';
import { buildRuntime } from '../../src/runtime/runtime.ts';

/** Loads files with the shipped plugins and runs the policy's own cases. Returns the printed diagnostics. */
export function rehearsed(files: readonly PolicyFile[], get: (name: string) => string | undefined): string {
  const registry = createRegistry(shipped);
  const context = { env: { get }, ...registry, revisionOf: (content: string) => content };
  const { snapshot, diagnostics } = loadPolicy(files, context);
  if (!snapshot) return formatDiagnostics(diagnostics, files);
  const steps = rehearse(buildRuntime(snapshot, registry, get));
  for (;;) {
    const step = steps.next();
    const found: readonly Diagnostic[] = step.done ? step.value : [];
    if (step.done) return formatDiagnostics([...diagnostics, ...found], files);
  }
}
