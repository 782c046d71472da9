import { mask } from '../../host/telemetry/secrets.ts';
import type { PolicyFile } from '../../policy/load.ts';
import { type Diagnostic, formatDiagnostics } from '../../policy/report/diagnostics.ts';

/** Writes diagnostics as text. Masks known secrets in the quoted lines of files. */
export function problemsText(
  problems: readonly Diagnostic[],
  { files }: { readonly files: readonly PolicyFile[] },
  colour: boolean,
): string {
  const shown = files.map(({ path, text }) => ({ path, ...(text && { text: mask(text) }) }));
  return formatDiagnostics(problems, shown, { colour });
}
