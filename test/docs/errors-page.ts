import { ERRORS } from '../../src/core/errors.ts';

/** The type of most errors. The page names only others. */
const COMMON_TYPE = 'invalid_request_error';

/** `docs/operate/errors.md`, made from the table of errors; a test holds the file to it. */
export function errorsPage(): string {
  const rows: readonly (readonly [
    string,
    { status: number; type: string; retry: boolean; means: string; code?: string },
  ])[] = Object.entries(ERRORS);
  const statuses = [...new Set(rows.map(([, { status }]) => status))].sort((a, b) => a - b);
  const sections = statuses.map((status) => {
    const lines = rows
      .filter(([, error]) => error.status === status)
      .map(([name, { type, retry, means, code = name }]) => {
        const other = type === COMMON_TYPE ? '' : ` (\`${type}\`)`;
        return `- \`${code}\`${other}: ${means}${retry ? ' **Retry.**' : ''}`;
      });
    return `## ${status}\n\n${lines.join('\n')}`;
  });
  return `# Errors

Read this page if your application handles errors. It lists every error code, and whether to try again. Errors have OpenAI's shape:

\`\`\`json
{ "error": { "message": "…", "type": "…", "param": "messages[0].content", "code": "…" } }
\`\`\`

- \`param\` is the path of the faulty field.
- \`x-request-id\` is on every answer. \`x-signalbox-decision-id\` is there once a decision was made:
  \`GET /v1/decisions/{id}\` shows each attempt.
- \`x-should-retry\` says whether to repeat this request, and \`retry-after\` when. It is \`false\` if the request may have
  cost something. OpenAI's SDK follows it. For the Vercel AI SDK set \`maxRetries: 0\`.
- A stream that fails after its first part ends with \`data: {"error": …, "platform": …}\` and no \`[DONE]\`.

\`type\` is \`${COMMON_TYPE}\` unless another is given. **Retry.** means that the same request can succeed later.

${sections.join('\n\n')}
`;
}
