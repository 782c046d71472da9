import { isObject, type Json, listOf, parseJson, textOf } from '../../../plugins/providers/json.ts';
import type { Behaviour } from '../fake-upstream.ts';
import {
  type Asked,
  type Dialect,
  dataUrl,
  type Failure,
  type FailureKind,
  lines,
  mergedTurns,
  refusalBy,
  type Script,
  scriptOf,
  type Tokens,
  type Turn,
  turn,
  type WireRequest,
} from './dialect.ts';
import { checkContents } from './gemini-contents.ts';
import { checkConfig, checkNames, refuse } from './gemini-options.ts';
import { generationOf, signatureOf } from './gemini-thoughts.ts';

/**
 * The dialect of Google's generateContent. Types: dist/genai.d.ts of @google/genai 2.32.0, and the fields that its `…FromMldev` functions
 * read.
 */
export const gemini: Dialect = {
  basePath: '/v1beta',
  refusal,
  asksForStream: ({ path }) => path.endsWith(':streamGenerateContent'),
  asked,
  reply,
  events,
  end: '',
  failure: (kind) => FAILURES[kind],
  errorBody,
  // Google's headers state neither a request ID nor the rest of a quota.
  headers: { 'server-timing': 'gfet4t7; dur=1', vary: 'Origin, X-Origin, Referer' },
};

/** An event of a stream. Google ends each line with a carriage return and a line feed. */
function event(fields: object): string {
  return `data: ${JSON.stringify(fields)}\r\n\r\n`;
}

/** The google.rpc.Code name that Google sends with each status. */
const CODES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

function errorBody(status: number, fields: Json) {
  return { error: { code: status, message: `status ${status}`, status: CODES[status] ?? 'INTERNAL', ...fields } };
}

const TYPE = 'type.googleapis.com/google.rpc.';

function failed(status: number, message: string, ...details: readonly Json[]): Failure {
  return { status, body: errorBody(status, details.length > 0 ? { message, details } : { message }) };
}

/** Texts and details as quoted in issues of google-gemini/gemini-cli and in ai.google.dev/gemini-api/docs/troubleshooting. */
const FAILURES: Readonly<Record<FailureKind, Failure>> = {
  auth: failed(400, 'API key not valid. Please pass a valid API key.', {
    '@type': `${TYPE}ErrorInfo`,
    reason: 'API_KEY_INVALID',
    domain: 'googleapis.com',
    metadata: { service: 'generativelanguage.googleapis.com' },
  }),
  billing: {
    status: 400,
    body: errorBody(400, {
      message: 'Gemini API free tier is not available in your country. Please enable billing on your project.',
      status: 'FAILED_PRECONDITION',
    }),
  },
  rejected: failed(400, 'Request contains an invalid argument.'),
  context: failed(400, 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'),
  not_found: failed(404, 'models/gemini-of-old is not found for API version v1beta.'),
  rate_limited: failed(
    429,
    'You exceeded your current quota, please check your plan and billing details.',
    {
      '@type': `${TYPE}QuotaFailure`,
      violations: [
        {
          quotaMetric: 'generativelanguage.googleapis.com/generate_content_requests',
          quotaId: 'GenerateRequestsPerMinutePerProjectPerModel',
          quotaValue: '60',
        },
      ],
    },
    { '@type': `${TYPE}RetryInfo`, retryDelay: '1s' },
  ),
  overloaded: failed(503, 'The model is overloaded. Please try again later.'),
  server: failed(500, 'An internal error has occurred.'),
  timeout: failed(504, 'The request timed out. Please try again.'),
};

const PATH = /^\/v1beta\/((?:models|tunedModels)\/[^/:]+):(generateContent|streamGenerateContent|countTokens)$/;

function modelOf({ path }: WireRequest): string {
  return decodeURIComponent(PATH.exec(path)?.[1] ?? '').replace(/^models\//, '');
}

function refusal(request: WireRequest, key: string | undefined): Failure | null {
  const { method, path, query, headers, text, body } = request;
  const given = headers.get('x-goog-api-key') ?? query.get('key');
  if (given === null) {
    return failed(403, "Method doesn't allow unregistered callers (callers without established identity).");
  }
  if (key !== undefined && given !== key) return FAILURES.auth;
  const [, , verb] = PATH.exec(path) ?? [];
  if (method !== 'POST' || verb === undefined) return failed(404, `Requested entity was not found: ${path}`);
  // Without `alt=sse` Google streams one JSON array. No adapter reads this form.
  if (verb === 'streamGenerateContent' && query.get('alt') !== 'sse') return failed(400, 'This fake streams only SSE.');
  if (!isObject(parseJson(text))) return failed(400, 'Invalid JSON payload received. Expected a value.');
  const generation = generationOf(modelOf(request));
  const refused = refusalBy(() => {
    const { model, ...counted } = Object(body.generateContentRequest);
    const asked = verb === 'countTokens' ? counted : body;
    // The request inside a token count states its model again.
    if (verb === 'countTokens' && model !== `models/${modelOf(request)}`) refuse('model is not specified');
    checkNames(asked);
    checkConfig(asked, generation);
    checkContents(asked, generation);
  });
  return refused && { status: refused.status, body: errorBody(refused.status, refused.body as Json) };
}

function asked(request: WireRequest): Asked {
  const { body, path } = request;
  const { generationConfig, systemInstruction, toolConfig } = body;
  const config = Object(generationConfig);
  const declared = listOf(body.tools).flatMap((tool) => listOf(Object(tool).functionDeclarations));
  const { mode, allowedFunctionNames: allowed } = Object(Object(toolConfig).functionCallingConfig);
  return {
    model: modelOf(request),
    stream: path.endsWith(':streamGenerateContent'),
    system: lines(...listOf(Object(systemInstruction).parts).map(textIn)),
    turns: mergedTurns(listOf(body.contents).filter(isObject).map(turnOf)),
    tools: declared.map((declaration) => textOf(Object(declaration).name)),
    toolChoice: Array.isArray(allowed) ? allowed.map(textOf) : (MODES[mode] ?? 'auto'),
    maxTokens: typeof config.maxOutputTokens === 'number' ? config.maxOutputTokens : null,
    schema: config.responseJsonSchema ?? config.responseSchema ?? null,
  };
}

const MODES: Readonly<Record<string, string>> = { ANY: 'required', NONE: 'none' };

function turnOf({ role, parts: given }: Json): Turn {
  const parts = listOf(given).filter(isObject);
  return turn(role === 'model' ? 'assistant' : 'user', {
    text: lines(...parts.filter(({ thought }) => thought !== true).map(textIn)),
    media: parts.flatMap(({ inlineData, fileData }) => {
      if (isObject(inlineData)) return [dataUrl(inlineData.mimeType, inlineData.data)];
      return isObject(fileData) ? [textOf(fileData.fileUri)] : [];
    }),
    calls: parts.filter(({ functionCall }) => isObject(functionCall)).map(callOf),
    results: parts.filter(({ functionResponse }) => isObject(functionResponse)).map(resultOf),
  });
}

const textIn = (part: unknown): string => textOf(Object(part).text);

function callOf({ functionCall }: Json): Turn['calls'][number] {
  const { name, args = {} } = Object(functionCall);
  return { name: textOf(name), input: args };
}

/** A tool response is an object. A response that only wraps a text is read as that text. */
function resultOf({ functionResponse }: Json): Turn['results'][number] {
  const { name, response } = Object(functionResponse);
  const [only, ...others] = Object.values(Object(response));
  const isWrapped = typeof only === 'string' && others.length === 0;
  return { name: textOf(name), text: isWrapped ? only : JSON.stringify(response) };
}

let count = 0;

/** Returns the parts of an answer, in pieces. A call is never split. The signature is on the first call, or else on the last part. */
function partsOf(request: WireRequest, { reasoning, text, calls }: Script): readonly Json[] {
  const generation = generationOf(modelOf(request));
  const { includeThoughts } = Object(Object(request.body.generationConfig).thinkingConfig);
  const isSigned = generation >= 3 || reasoning.length > 0;
  const thoughts = includeThoughts === true ? reasoning.map((piece) => ({ text: piece, thought: true })) : [];
  const said = text.map((piece) => ({ text: piece }));
  const called = calls.map(({ id = `fake${++count}`, name, arguments: args }, at) => {
    // Models before Gemini 3 send calls without an ID.
    const functionCall = { ...(generation >= 3 ? { id } : {}), name, args: parseJson(args) ?? {} };
    return { functionCall, ...(isSigned && at === 0 ? { thoughtSignature: signatureOf(functionCall) } : {}) };
  });
  const last = isSigned && calls.length === 0 ? [{ text: '', thoughtSignature: signatureOf() }] : [];
  return [...thoughts, ...said, ...called, ...last];
}

const FINISH_REASONS: Readonly<Record<string, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool_calls: 'STOP',
  content_filter: 'SAFETY',
};

/** `promptTokenCount` includes cached tokens; `candidatesTokenCount` excludes thoughts. */
function usageOf({ prompt, cached, completion, reasoning }: Tokens) {
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: completion - reasoning,
    totalTokenCount: prompt + completion,
    ...(cached > 0 && {
      cachedContentTokenCount: cached,
      cacheTokensDetails: [{ modality: 'TEXT', tokenCount: cached }],
    }),
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
    ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
  };
}

function chunkOf(request: WireRequest, candidates: readonly Json[], tokens: Tokens | null, responseId: string) {
  const usage = tokens && { usageMetadata: usageOf(tokens) };
  return { candidates, ...usage, modelVersion: modelOf(request), responseId };
}

function candidatesOf({ body }: WireRequest, members: Json): readonly Json[] {
  const { candidateCount = 1 } = Object(body.generationConfig);
  return Array.from({ length: Number(candidateCount) }, (_, index) => ({ ...members, index }));
}

function finishOf({ finish }: Script, { refusal }: Behaviour) {
  const finishReason = FINISH_REASONS[finish] ?? finish;
  return { finishReason, ...(refusal === undefined ? {} : { finishMessage: refusal }) };
}

function reply(request: WireRequest, behaviour: Behaviour): object {
  const script = scriptOf(request, behaviour);
  if (request.path.endsWith(':countTokens')) return { totalTokens: script.tokens?.prompt };
  const content = { role: 'model', parts: wholeParts(partsOf(request, script)) };
  const candidates = candidatesOf(request, { content, ...finishOf(script, behaviour) });
  return chunkOf(request, candidates, script.tokens, `resp_fake${++count}`);
}

/** Merges the pieces into one part of thoughts and one part of text; the text part has the signature that follows it. */
function wholeParts(pieces: readonly Json[]): readonly Json[] {
  const whole: Json[] = [];
  for (const piece of pieces) {
    const last = whole.at(-1);
    const isSame = last !== undefined && 'text' in piece && 'text' in last && last.thought === piece.thought;
    if (isSame) whole[whole.length - 1] = { ...last, ...piece, text: `${last.text}${piece.text}` };
    else whole.push(piece);
  }
  return whole;
}

function events(request: WireRequest, behaviour: Behaviour): readonly string[] {
  const script = scriptOf(request, behaviour);
  const { tokens } = script;
  const parts = partsOf(request, script);
  const responseId = `resp_fake${++count}`;
  const pieces = parts.length > 0 ? parts : [{ text: '' }];
  return pieces.map((part, at) => {
    const isLast = at === pieces.length - 1;
    const members = { content: { role: 'model', parts: [part] }, ...(isLast && finishOf(script, behaviour)) };
    // Every chunk reports the counts so far; only the last chunk has the final counts.
    const soFar = tokens && { ...tokens, completion: Math.min(tokens.completion, at + 1), reasoning: 0 };
    return event(chunkOf(request, candidatesOf(request, members), isLast ? tokens : soFar, responseId));
  });
}
