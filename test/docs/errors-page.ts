import { ERRORS } from '../../src/core/errors.ts';

/** The type of most errors. The page names only others. */
const COMMON_TYPE = 'invalid_request_error';

const TITLES: Readonly<Record<number, string>> = {
  400: 'the request is wrong',
  401: 'no valid key',
  402: 'money is missing',
  403: 'not allowed',
  404: 'nothing there',
  405: 'wrong method',
  408: 'too slow',
  409: 'conflict',
  410: 'too late',
  412: 'changed meanwhile',
  413: 'body too large',
  415: 'wrong media type',
  422: 'cannot be carried out',
  429: 'slow down',
  431: 'headers too large',
  500: 'a defect',
  502: 'the provider failed',
  503: 'not now',
  504: 'the provider is too slow',
};

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
    return `## ${status}: ${TITLES[status]}\n\n${lines.join('\n')}`;
  });
  return `# Errors

Read this page if your application handles errors from Signalbox. It lists every error code, and whether to try again.
Every error has OpenAI's shape, with \`details\` where a program can use them:

\`\`\`json
{ "error": { "message": "…", "type": "…", "param": "messages[0].content", "code": "…" } }
\`\`\`

- \`param\` is the path of the faulty field.
- \`x-request-id\` is on every answer. \`x-signalbox-decision-id\` is there once a decision was made:
  \`GET /v1/decisions/{id}\` shows each attempt.
- \`x-should-retry\` says whether to repeat this very request, and \`retry-after\` when. It is \`false\` where the failed
  request may have cost something, such as a timeout upstream. OpenAI's SDK follows the header. The Vercel AI SDK does
  not, and repeats on every status from 500: set \`maxRetries: 0\` where that matters.
- A stream that fails after its first part ends with \`data: {"error": …, "platform": …}\` and no \`[DONE]\`.

\`type\` is \`${COMMON_TYPE}\` unless another is given. **Retry.** means that the same request can succeed later.

${sections.join('\n\n')}

## When no model is left

The error names the kind of reason that would have to go first: \`no_healthy_model\` (providers), \`insufficient_quota\`
(budgets and balances), \`budget_limit_too_low\` (the request's own limit), \`context_length_exceeded\` (the prompt),
else \`no_eligible_model\` (constraints).
`;
}
