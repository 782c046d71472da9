import { ERRORS, type ErrorCode, SignalboxError } from '../../src/core/errors.ts';
import { isObject } from '../../src/core/object.ts';
import type { Surface } from '../../src/surface/surface.ts';
import { SURFACES } from '../../src/surface/surfaces.ts';
import { markdownTable } from './table.ts';

/** The type of most errors. The page names only others. */
const COMMON_TYPE = 'invalid_request_error';

/** What goes wrong most, and its code. */
const SITUATIONS: readonly (readonly [what: string, code: ErrorCode])[] = [
  ['no valid key', 'invalid_api_key'],
  ['a field is wrong', 'invalid_value'],
  ['the prompt is too long', 'context_length_exceeded'],
  ['the budget or balance is spent', 'insufficient_quota'],
  ['other requests hold the money', 'budget_contended'],
  ['too many requests', 'rate_limit_exceeded'],
  ['no model may serve it', 'no_eligible_model'],
  ['no model can serve it now', 'no_healthy_model'],
  ['the provider failed', 'upstream_failed'],
  ['Signalbox is busy', 'overloaded'],
];

/** The words by which the clients of a surface tell one error from another. */
function wordsOf({ errorBody }: Surface, code: ErrorCode): string {
  const body: { readonly error?: unknown } = errorBody(new SignalboxError(code, ERRORS[code].means));
  const { type, code: wire } = isObject(body.error) ? body.error : {};
  return [type, wire].flatMap((word) => (typeof word === 'string' ? [`\`${word}\``] : [])).join(', ');
}

/** A column for each set of surfaces whose clients read the same words. */
function dialectsTable(): string {
  const columns = Map.groupBy(SURFACES, (surface) => SITUATIONS.map(([, code]) => wordsOf(surface, code)).join('\n'));
  const groups = [...columns.values()];
  const head = groups.map((surfaces) => surfaces.map(({ path }) => `\`${path}\``).join(', '));
  const rows = SITUATIONS.map(([what, code]) => {
    const { status, retry } = ERRORS[code];
    return [what, String(status), ...groups.map(([surface]) => wordsOf(surface!, code)), retry ? 'yes' : 'no'];
  });
  return markdownTable(['what', 'status', ...head, 'retry'], rows);
}

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

Every error code, and whether to try again. Errors have OpenAI's shape, [but on \`/v1/messages\`](#by-dialect):

\`\`\`json
{ "error": { "message": "…", "type": "…", "param": "messages[0].content", "code": "…" } }
\`\`\`

- \`param\` is the path of the faulty field.
- \`x-request-id\` is on every answer. \`x-signalbox-decision-id\` is there once a decision was made:
  \`GET /v1/decisions/{id}\` shows each attempt.
- \`x-should-retry\` says whether to repeat this request, and \`retry-after\` when. It is \`false\` if the request may have
  cost something. OpenAI's SDK follows it. For the Vercel AI SDK set \`maxRetries: 0\`.
- A stream that fails after its first part ends with \`data: {"error": …, "platform": …}\` and no \`[DONE]\`.

## By dialect

The path decides the shape. On \`/v1/messages\` it is Anthropic's: \`{ "type": "error", "error": { "type", "message", "details" }, "request_id" }\`, where
\`details\` has \`error_code\`, the code below, and \`param\`. The table has the \`type\` of an error, and its \`code\` where the dialect has one.

${dialectsTable()}

A refusal of the request itself (400, 413, 422) by a provider of the same dialect is passed on unchanged. A Responses stream that fails ends with
\`response.failed\`, a Messages stream with the event \`error\`.

\`type\` is \`${COMMON_TYPE}\` unless another is given. **Retry.** means that the same request can succeed later.

${sections.join('\n\n')}
`;
}
