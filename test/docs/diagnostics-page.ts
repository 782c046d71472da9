import { DIAGNOSTICS, type DiagnosticCode, formatDiagnostics, severityOf } from '../../src/policy/diagnostics.ts';
import { type GoldenResult, loadGolden } from '../policy/golden.ts';
import { EXAMPLES, type Example } from './diagnostics-examples.ts';

/** Every example with its code, in the page's order. */
export const DIAGNOSED: readonly (readonly [DiagnosticCode, Example])[] = Object.values(EXAMPLES).flatMap((group) =>
  Object.entries(group).flatMap(([code, example]) => (isCode(code) ? [[code, example] as const] : [])),
);

function isCode(code: string): code is DiagnosticCode {
  return Object.hasOwn(DIAGNOSTICS, code);
}

/** `docs/policies/diagnostics.md`, made from the table of codes and policies with something wrong; a test holds the file to it. */
export function diagnosticsPage(): string {
  const groups = Object.entries(EXAMPLES).map(([title, group]) => {
    const codes = Object.keys(group).filter(isCode);
    const rows = codes.map((code) => `| [\`${code}\`](#${code}) | ${severityOf(code)} | ${DIAGNOSTICS[code]} |`);
    return { title, table: `### ${title}\n\n| code | severity | means |\n| --- | --- | --- |\n${rows.join('\n')}` };
  });
  const sections = DIAGNOSED.map(([code, example]) => section(code, example));
  return `# Diagnostics

What \`signalbox policy check\`, a start and a reload say about a policy. Every problem is told at once, with
its place, the line with carets under it, what would have been right, and what was probably meant:

\`\`\`text
policies/rules.yaml:3:35  cel-type  figures have a point in CEL: a whole number is of another type
  2 |   - name: short-requests
> 3 |     when: request.input_tokens == 100
    |                                   ^^^
  expected: a number with a point
  hint: write 100.0
\`\`\`

Columns count from 1, in UTF-16 units, as editors do. An **error** keeps the policy from coming into force:
a start stops with it, a reload changes nothing. A **warning** does not. Codes are never renamed or reused;
\`--json\` prints the same for programs: \`{ errors, warnings, diagnostics: [{ file, line, column, length, severity,
code, message, expected, hint, related }] }\`.

The examples are files of the tests, with what is said of them and the lines that mend them.

## All codes

${groups.map(({ table }) => table).join('\n\n')}

## Examples

${sections.join('\n\n')}
`;
}

function section(code: DiagnosticCode, { golden, where, mended }: Example): string {
  const severity = severityOf(code);
  const means = DIAGNOSTICS[code];
  const judged = loadGolden(golden);
  const first = judged.diagnostics.filter((each) => each.code === code).slice(0, 1);
  const said = `\`\`\`text\n${formatDiagnostics(first, judged.files)}\n\`\`\``;
  const intro = `${severity === 'error' ? 'Error' : 'Warning'}: ${means}.`;
  return [`### ${code}`, where ? `${intro} ${where}` : intro, said, mendedText(judged, mended)].join('\n\n');
}

function mendedText({ files: [file] }: GoldenResult, mended: Example['mended']): string {
  if (typeof mended === 'string') return `Mended: ${mended}`;
  const before = new Set(file?.text?.split('\n'));
  const lines = (file?.text ?? '').replace(...mended).split('\n');
  const changed = lines.filter((line) => !before.has(line));
  if (changed.length === 0) return 'Mended: take that line, or the other, out.';
  return `Mended:\n\n\`\`\`yaml\n${changed.join('\n')}\n\`\`\``;
}
