import type { CallForm, Dialect, Event, Tokens, ToolText } from './dialect.ts';
import { JUNK } from './sample-texts.ts';

/** `GenerateContentResponse`, after the types of `@google/genai` 2.32.0. Each event of a stream contains one. */
const frame = { modelVersion: JUNK, responseId: 'response-1' };

const counted = (usage: Tokens | null): Event =>
  usage
    ? {
        usageMetadata: {
          promptTokenCount: usage.prompt,
          candidatesTokenCount: usage.output,
          totalTokenCount: usage.prompt + usage.output,
        },
      }
    : {};

/** An answer, or a piece of an answer. */
export const response = (parts: readonly object[], finishReason: string | null, usage: Tokens | null): Event => ({
  candidates: [{ content: { parts, role: 'model' }, ...(finishReason === null ? {} : { finishReason }), index: 0 }],
  ...counted(usage),
  ...frame,
});

const REASONS = { stop: 'STOP', length: 'MAX_TOKENS' } as const;

/** The google.rpc.Status codes by HTTP status. Other statuses come from an intermediary. */
const CODES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};
const error = (code: number, message: string, details?: readonly object[]): Event => {
  const status = CODES[code];
  return { error: { code, message, ...(status && { status }), ...(details && { details }) } };
};
const detail = (type: string, fields: object): object => ({
  '@type': `type.googleapis.com/google.rpc.${type}`,
  ...fields,
});

export const gemini: Dialect = {
  name: 'gemini',
  adapter: 'gemini',
  base: '/v1beta',
  path: (upstream, stream) => `/models/${upstream}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  auth: { header: 'x-goog-api-key', prefix: '' },

  nameOf: () => '',
  opening: () => [],
  word: (text, running) => [response([{ text }], null, running)],
  counts: 'all along',
  finish: (reason, usage) => [response([{ text: '' }], REASONS[reason], usage)],
  report: (usage) => [{ ...counted(usage), ...frame }],
  end: '',

  reply: (text, usage, isEnded = true) => JSON.stringify(response([{ text }], isEnded ? 'STOP' : null, usage)),
  replyEndedTwice(text, usage) {
    const [one, other] = [response([{ text }], 'STOP', usage), response([{ text: JUNK }], 'MAX_TOKENS', usage)];
    return JSON.stringify({ ...one, candidates: [one, other].flatMap(({ candidates }) => candidates) });
  },
  counted,
  callEvents: (tool, form, usage) => [callResponse(tool, form, usage)],
  callReply: (tool, form, usage) => JSON.stringify(callResponse(tool, form, usage)),
  emptyEvents: (usage) => [{ ...counted(usage), ...frame }],
  emptyReply: (usage) => JSON.stringify({ candidates: [], ...counted(usage), ...frame }),

  error,
  // The form in a stream without `alt=sse`.
  oddError: (message) => [error(500, message)],
  tooLong: (message) =>
    error(400, `The input token count (1200000) exceeds the maximum number of tokens allowed (1048576). ${message}`),
  refusedKey: (message) => ({
    status: 400,
    body: error(400, message, [detail('ErrorInfo', { reason: 'API_KEY_INVALID', domain: 'googleapis.com' })]),
  }),
  pause: (seconds) => ({
    headers: {},
    body: error(429, JUNK, [detail('QuotaFailure', {}), detail('RetryInfo', { retryDelay: `${seconds}s` })]),
  }),
};

/** Gemini never splits a call. */
function callResponse({ name, arguments: text }: ToolText, form: CallForm, usage: Tokens): Event {
  const known = form === 'untidy' ? {} : { id: 'call-1' };
  const call = { functionCall: { ...known, ...(form === 'nameless' ? {} : { name }), args: JSON.parse(text) } };
  const candidate = { content: { parts: [call], role: 'model' }, finishReason: 'STOP' };
  return { candidates: [form === 'untidy' ? candidate : { ...candidate, index: 0 }], ...counted(usage), ...frame };
}
