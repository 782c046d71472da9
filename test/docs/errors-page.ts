import { ERRORS, type ErrorCode, SignalboxError } from '../../src/core/errors.ts';
import { isObject } from '../../src/core/json/object.ts';
import type { Surface } from '../../src/dialects/surface.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';

/** The type of most errors. The page states only other types. */
const COMMON_TYPE = 'invalid_request_error';

/** Lists the errors of Anthropic Messages by their type, with the statuses of the codes that have the type. */
function messagesTypes(): string {
  const surface = SURFACES.find(({ routes }) => routes[0].path === '/v1/messages');
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

/** Makes `docs/operate/errors.md` from the table of errors. A test compares the file with the result. */
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

This page lists every error code, and says whether to send the request again. [Troubleshooting](../troubleshooting.md) starts from the
symptom instead. Errors have OpenAI's format, [except for clients of Anthropic's and Gemini's APIs](#by-dialect):

\`\`\`json
{ "error": { "message": "…", "type": "…", "param": "messages[0].content", "code": "…" } }
\`\`\`

- \`param\` is the path of the wrong field.
- Every answer has the header \`x-request-id\`, by which operators [find the request](requests.md). If Signalbox made a decision, the answer also has \`x-signalbox-decision-id\`, and
  \`GET /v1/decisions/{id}\` shows each attempt.
- \`x-should-retry\` says whether to send the request again, and \`retry-after\` says after how many seconds. \`x-should-retry\` is \`false\` if the
  request may have cost something. It is also \`false\` if \`retry-after\` is longer than 60 s, because SDKs ignore a longer wait and repeat the
  request at once. OpenAI's SDK follows \`x-should-retry\`. For the Vercel AI SDK set \`maxRetries: 0\`.
- If a chat stream fails after its headers, it ends with \`data: {"error": …, "platform": …}\` and without \`[DONE]\`. After 250 ms Signalbox breaks
  the connection, so that no client takes the part for a complete answer ([streams that fail](../route/failover.md#streams-that-fail)).

## By dialect

The path of the request decides the format. \`/v1/messages\` answers in Anthropic's format, with the header \`request-id\`. Gemini's paths, such
as \`/v1beta/models/…\`, answer in [Google's format](../clients/gemini.md#answers-and-errors). \`/v1/models\` and unknown paths outside of \`/admin\` use
Anthropic's format if the request has the header \`anthropic-version\`, and Google's format if it has \`x-goog-api-key\` and no \`Authorization\`. All other
paths use OpenAI's format.

Anthropic's format is \`{ "type": "error", "error": { "type", "message", "details" }, "request_id" }\`. \`details\` has \`param\` and \`error_code\`, the
code in the list below. The types, with their statuses, are ${messagesTypes()}.

If a provider of the same dialect refuses the request itself (400, 413, 422), Signalbox passes the error on unchanged. A Responses stream that
fails ends with the event \`response.failed\`. A Messages stream that fails ends with the event \`error\`.

\`type\` is \`${COMMON_TYPE}\`, unless the list has another type in brackets. **Retry.** means that the same request can succeed later.

${sections.join('\n\n')}
`;
}
