import { DIAGNOSTICS } from '../../src/policy/diagnostics.ts';

/** `docs/diagnostics.md`, made from the table of codes; a test holds the file to it. */
export function diagnosticsPage(): string {
  const rows = Object.entries(DIAGNOSTICS).map(
    ([code, { severity, means }]) => `| \`${code}\` | ${severity} | ${means} |`,
  );
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

| code | severity | means |
| --- | --- | --- |
${rows.join('\n')}
`;
}
