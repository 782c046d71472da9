import { ERRORS } from '../../src/core/errors.ts';

/** `docs/errors.md`, made from the table of errors; a test holds the file to it. */
export function errorsPage(): string {
  const rows: readonly (readonly [
    string,
    { status: number; type: string; retry: boolean; means: string; code?: string },
  ])[] = Object.entries(ERRORS);
  const lines = [...rows]
    .sort(([, a], [, b]) => a.status - b.status)
    .map(
      ([name, { status, type, retry, means, code = name }]) =>
        `| ${status} | \`${type}\` | \`${code}\` | ${retry ? 'yes' : 'no'} | ${means} |`,
    );
  return `# Errors

Every error has OpenAI's shape, and \`details\` where a program can use them:

\`\`\`json
{ "error": { "message": "…", "type": "…", "param": "messages[0].content", "code": "…" } }
\`\`\`

\`param\` is the path of the field at fault. \`x-request-id\` is on every answer; the log names it with a defect, and with a key’s
request that was refused before there was a decision. Once there was one, \`x-signalbox-decision-id\` names it, and
\`GET /v1/decisions/{id}\` tells of each attempt.

**Again?** tells whether the same request can succeed later; the header \`x-should-retry\` says it for the
case at hand, and \`retry-after\` how long to wait. What was billed says \`false\`: a request that timed out
upstream may have cost something. OpenAI's SDK obeys the header. The Vercel AI SDK does not, and tries
every status of 500 and above again: give it \`maxRetries: 0\` where that matters.

A stream that fails after its first part ends with \`data: {"error": …, "platform": …}\`, without \`[DONE]\`.

| status | type | code | again? | means |
| ---: | --- | --- | --- | --- |
${lines.join('\n')}

When no model is left, the status tells which kind of reason would have to go first: the health of the upstreams
(\`no_healthy_model\`), what budgets and balances leave (\`insufficient_quota\`), the request's own limit
(\`budget_limit_too_low\`), the length of the prompt (\`context_length_exceeded\`), else the constraints
(\`no_eligible_model\`).
`;
}
