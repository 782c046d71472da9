import { ERRORS, type ErrorCode, SignalboxError } from '../../src/core/errors.ts';
import { isObject } from '../../src/core/object.ts';
import type { Surface } from '../../src/dialects/surface.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';

/** The type of most errors. The page names only others. */
const COMMON_TYPE = 'invalid_request_error';

/** The errors of Messages by their type there, with the statuses of the codes that have it. */
function messagesTypes(): string {
  const surface = SURFACES.find(({ path }) => path === '/v1/messages');
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => typeOf(surface, code) !== '');
  const types = Map.groupBy(codes, (code) => typeOf(surface, code));
  return [...types]
    .map(([type, alike]) => `\`${type}\` (${[...new Set(alike.map((code) => ERRORS[code].status))].sort().join(', ')})`)
    .join(', ');
}

function typeOf(surface: Surface | undefined, code: ErrorCode): string {
  const body: { readonly error?: unknown } = surface?.errorBody(new SignalboxError(code, ERRORS[code].means)) ?? {};
  return isObject(body.error) && typeof body.error.type === 'string' ? body.error.type : '';
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

Every error code, and whether to try again. Errors have OpenAI's shape, [except for clients of Anthropic's API](#by-dialect):

\`\`\`json
{ "error": { "message": "…", "type": "…", "param": "messages[0].content", "code": "…" } }
\`\`\`

- \`param\` is the path of the faulty field.
- \`x-request-id\` is on every answer. \`x-signalbox-decision-id\` is there once a decision was made:
  \`GET /v1/decisions/{id}\` shows each attempt.
- \`x-should-retry\` says whether to repeat this request, and \`retry-after\` when. It is \`false\` if the request may have
  cost something, and if \`retry-after\` is longer than 60 s: SDKs ignore a longer wait and repeat the request at once. OpenAI's SDK follows it. For the Vercel AI SDK set \`maxRetries: 0\`.
- A chat stream that fails after its headers ends with \`data: {"error": …, "platform": …}\` and no \`[DONE]\`. 250 ms later the connection
  breaks, so that no client takes the part for a whole answer ([streams that fail](../route/failover.md#streams-that-fail)).

## By dialect

The path decides the shape. \`/v1/messages\` answers in Anthropic's shape, with the header \`request-id\`. So do \`/v1/models\` and unknown paths, if
the request has the header \`anthropic-version\`. Every other path keeps the shape above. Anthropic's shape is \`{ "type": "error", "error": { "type", "message", "details" }, "request_id" }\`, where
\`details\` has \`error_code\`, the code below, and \`param\`. Its types, by status: ${messagesTypes()}.

A refusal of the request itself (400, 413, 422) by a provider of the same dialect is passed on unchanged. A Responses stream that fails ends with
\`response.failed\`, a Messages stream with the event \`error\`, and the body then ends.

\`type\` is \`${COMMON_TYPE}\` unless another is given. **Retry.** means that the same request can succeed later.

${sections.join('\n\n')}
`;
}
