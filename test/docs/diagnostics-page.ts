import { DIAGNOSTICS, type DiagnosticCode, severityOf } from '../../src/policy/report/diagnostics.ts';
import type { Example } from './diagnostics-example.ts';
import { EXAMPLES } from './diagnostics-examples.ts';

/** Every example with its code, in the order of the page. */
export const DIAGNOSED: readonly (readonly [DiagnosticCode, Example])[] = Object.values(EXAMPLES).flatMap(entriesOf);

function entriesOf(group: Partial<Record<DiagnosticCode, Example>>): (readonly [DiagnosticCode, Example])[] {
  return Object.entries(group).flatMap(([code, example]) => (isCode(code) ? [[code, example] as const] : []));
}

function isCode(code: string): code is DiagnosticCode {
  return Object.hasOwn(DIAGNOSTICS, code);
}

/** Makes `docs/policies/diagnostics.md` from the table of codes and the fixes of the examples. A test compares the file. */
export function diagnosticsPage(): string {
  const groups = Object.entries(EXAMPLES).map(
    ([title, group]) => `## ${title}\n\n${entriesOf(group).map(row).join('\n')}`,
  );
  return `# Diagnostics

This page lists every problem that Signalbox can report about a policy, by its code, and how to fix it. \`./signalbox policy check\`,
the start of a server and a reload report these problems. Each message shows the location, a hint and the expected form:

\`\`\`text
policies/rules.yaml:3:35  cel-type  CEL does not mix whole numbers and decimal numbers
  2 |   - name: short-requests
> 3 |     when: request.input_tokens == 100
    |                                   ^^^
  hint: write \`100.0\`
  expected: a number with a decimal point
\`\`\`

An error prevents the policy from becoming active: a server does not start, and a reload changes nothing. A warning, which is marked
below, does not prevent anything. Only \`policy check\` reports \`costly-choice\`, \`unknown-language\`, \`small-budget\`, \`uncounted-images\`, \`ended-price\`, \`stale-figure\` and \`unverified-figure\`. Codes are never renamed or reused.
Columns count from 1, in UTF-16 units. \`--json\` prints \`{ errors, warnings, diagnostics: [{ file, line, column, length, severity,
code, message, expected, hint, related, end_column, frame, help }] }\`, with the other fields of \`POST /admin/policy/check\`. \`file\` is a name within the policy’s folder.

${groups.join('\n\n')}
`;
}

function row([code, { mend }]: readonly [DiagnosticCode, Example]): string {
  const mark = severityOf(code) === 'warning' ? ' (warning)' : '';
  return `- \`${code}\`${mark}: ${DIAGNOSTICS[code]} ${mend}`;
}
