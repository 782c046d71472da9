import { isObject, type Json, listOf, parseJson, textOf } from '../../../plugins/providers/json.ts';
import type { Behaviour } from '../fake-upstream.ts';
import { pieces } from '../openai-wire.ts';
import { checkMessages } from './anthropic-messages.ts';
import { checkOptions, membersOf } from './anthropic-options.ts';
import { messagesOf, signatureOf } from './anthropic-thinking.ts';
import { checkThread, keepThread, wholeRequest } from './anthropic-threads.ts';
import { claudeOf } from './claude.ts';
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

/**
 * The dialect of Anthropic's Messages API. Types: resources/messages/messages.d.ts and resources/shared.d.ts of @anthropic-ai/sdk 1.14.0.
 */
export const anthropic: Dialect = {
  basePath: '/v1',
  refusal,
  asksForStream: ({ body }) => body.stream === true,
  asked,
  reply,
  events,
  end: event({ type: 'message_stop' }),
  failure: (kind) => FAILURES[kind],
  errorBody,
  headers: {
    'request-id': 'req_fake',
    'anthropic-organization-id': 'org_fake',
    // Header names as in platform.claude.com/docs/en/api/rate-limits.
    ...rateLimits('requests', 1000),
    ...rateLimits('tokens', 96_000),
    ...rateLimits('input-tokens', 80_000),
    ...rateLimits('output-tokens', 16_000),
  },
};

/** An event of a stream; its name is its type. */
function event(fields: { readonly type: string; readonly [name: string]: unknown }): string {
  return `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`;
}

function rateLimits(what: string, limit: number): Record<string, string> {
  const name = `anthropic-ratelimit-${what}`;
  return {
    [`${name}-limit`]: String(limit),
    [`${name}-remaining`]: String(limit - 1),
    [`${name}-reset`]: '2026-01-01T00:00:00Z',
  };
}

/** The error type for each status, as listed in platform.claude.com/docs/en/api/errors. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

function errorBody(status: number, fields: Json) {
  const type = ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  return { type: 'error', error: { type, message: `status ${status}`, ...fields }, request_id: 'req_fake' };
}

function failed(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Failure {
  return { status, body: errorBody(status, { message }), headers };
}

const AGAIN = { 'x-should-retry': 'true' };
const NEVER = { 'x-should-retry': 'false' };

const FAILURES: Readonly<Record<FailureKind, Failure>> = {
  auth: failed(401, 'invalid x-api-key', NEVER),
  billing: failed(400, 'Your credit balance is too low to access the Anthropic API.', NEVER),
  rejected: failed(400, 'messages: Field required', NEVER),
  context: failed(400, 'prompt is too long: 208310 tokens > 200000 maximum', NEVER),
  not_found: failed(404, 'model: claude-of-old', NEVER),
  rate_limited: failed(429, 'This request would exceed the rate limit for your organization.', {
    ...AGAIN,
    'retry-after': '1',
  }),
  overloaded: failed(529, 'Overloaded', AGAIN),
  server: failed(500, 'Internal server error', AGAIN),
  timeout: failed(504, 'Request timed out', AGAIN),
};

function refusal(request: WireRequest, key: string | undefined): Failure | null {
  const { method, path, headers, text } = request;
  // Anthropic's documentation uses `x-api-key`; the SDK can also send `authorization` (`apiKeyAuth` in its client.mjs).
  const given = headers.get('x-api-key') ?? headers.get('authorization')?.replace(/^Bearer /, '');
  if (given === undefined) return failed(401, 'x-api-key header is required', NEVER);
  if (key !== undefined && given !== key) return FAILURES.auth;
  if (method !== 'POST' || (path !== '/v1/messages' && path !== COUNT_PATH)) return failed(404, 'Not Found', NEVER);
  if (!headers.has('anthropic-version')) return failed(400, 'anthropic-version: header is required', NEVER);
  if (!isObject(parseJson(text))) return failed(400, 'The request body is not valid JSON', NEVER);
  const refused = refusalBy(() => {
    checkThread(request);
    const { body } = wholeRequest(request);
    const claude = claudeOf(String(body.model));
    const known = withoutBetas(body, headers.get('anthropic-beta') ?? '');
    if (path === COUNT_PATH) membersOf(known, '', COUNTED);
    checkOptions(path === COUNT_PATH ? { ...known, max_tokens: claude.outputMax } : known, claude);
    // A turn without messages continues an answer that was left unfinished.
    if (request.body.thread == null || listOf(request.body.messages).length > 0) checkMessages(body, claude);
  });
  return refused && { ...refused, body: errorBody(refused.status, refused.body as Json), headers: NEVER };
}

const COUNT_PATH = '/v1/messages/count_tokens';
/** The members of `MessageCountTokensParams`. */
const COUNTED = 'model messages system tools tool_choice thinking output_config cache_control speed';

/** Fields that need a beta header, with the beginning of the beta's name. Without the header, the API does not know the field. */
const BETAS = [
  ['context_management', 'context-management-'],
  ['thread', 'message-threads-'],
] as const;

function withoutBetas(body: Json, betas: string): Json {
  const known = BETAS.filter(([, beta]) => betas.includes(beta)).map(([field]) => field);
  return Object.fromEntries(Object.entries(body).filter(([name]) => !known.some((field) => field === name)));
}

function asked(request: WireRequest): Asked {
  const { body } = wholeRequest(request);
  const messages = messagesOf(body);
  const names = new Map(messages.flatMap(({ blocks }) => blocks.map(({ id, name }) => [id, textOf(name)])));
  const instructions = messages.filter(({ role }) => role === 'system').flatMap(({ blocks }) => blocks);
  const format = Object(Object(body.output_config).format);
  const choice = Object(body.tool_choice);
  return {
    model: textOf(body.model),
    stream: body.stream === true,
    system: lines(textOf(body.system), ...[...listOf(body.system), ...instructions].map(textIn)),
    turns: mergedTurns(messages.filter(({ role }) => role !== 'system').map((message) => turnOf(message, names))),
    tools: listOf(body.tools).map((tool) => textOf(Object(tool).name)),
    toolChoice: choice.type === 'tool' ? [textOf(choice.name)] : (CHOICES[choice.type] ?? 'auto'),
    maxTokens: typeof body.max_tokens === 'number' ? body.max_tokens : null,
    schema: format.type === 'json_schema' ? format.schema : null,
  };
}

const CHOICES: Readonly<Record<string, string>> = { any: 'required', none: 'none' };

function turnOf({ role, blocks }: ReturnType<typeof messagesOf>[number], names: ReadonlyMap<unknown, string>): Turn {
  const of = (type: string) => blocks.filter((block) => block.type === type);
  return turn(role === 'assistant' ? 'assistant' : 'user', {
    text: lines(...of('text').map(textIn)),
    media: blocks.filter(({ source }) => isObject(source)).map(({ source }) => addressOf(Object(source))),
    calls: of('tool_use').map(({ name, input }) => ({ name: textOf(name), input })),
    results: of('tool_result').map(({ tool_use_id, content }) => ({
      name: names.get(tool_use_id) ?? '',
      text: lines(textOf(content), ...listOf(content).map(textIn)),
    })),
  });
}

const textIn = (block: unknown): string => textOf(Object(block).text);

function addressOf({ type, url, media_type, data }: Json): string {
  return type === 'url' ? textOf(url) : dataUrl(media_type, data);
}

let count = 0;

interface Block {
  /** The block as a complete answer contains it. */
  readonly whole: Json;
  /** The block as a stream opens it, followed by the deltas added to it. */
  readonly start: Json;
  readonly deltas: readonly Json[];
}

function blocksOf({ body }: WireRequest, { reasoning, text, calls }: Script): readonly Block[] {
  const blocks: Block[] = [];
  if (reasoning.length > 0) {
    const { display } = Object(body.thinking);
    const isHidden = display === undefined ? claudeOf(String(body.model)).hidesThinking : display === 'omitted';
    const shown = isHidden ? [] : reasoning;
    const thinking = shown.join('');
    const signature = signatureOf(body, thinking);
    const deltas = shown.map((piece) => ({ type: 'thinking_delta', thinking: piece }));
    blocks.push({
      whole: { type: 'thinking', thinking, signature },
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [...deltas, { type: 'signature_delta', signature }],
    });
  }
  if (text.length > 0) {
    blocks.push({
      whole: { type: 'text', text: text.join('') },
      start: { type: 'text', text: '' },
      deltas: text.map((piece) => ({ type: 'text_delta', text: piece })),
    });
  }
  for (const { id = `toolu_fake${++count}`, name, arguments: args } of calls) {
    const call = { type: 'tool_use', id, name, caller: { type: 'direct' } };
    blocks.push({
      whole: { ...call, input: parseJson(args) ?? {} },
      start: { ...call, input: {} },
      // The first piece of a tool input is empty (see the example on build-with-claude/streaming).
      deltas: ['', ...pieces(args)].map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    });
  }
  return blocks;
}

const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

function stopOf({ body }: WireRequest, { finish }: Script, { refusal: explanation }: Behaviour) {
  const stop_reason = STOP_REASONS[finish] ?? finish;
  return {
    stop_reason,
    stop_sequence: stop_reason === 'stop_sequence' ? (listOf(body.stop_sequences)[0] ?? null) : null,
    stop_details:
      stop_reason === 'refusal' ? { type: 'refusal', category: null, explanation: explanation ?? null } : null,
    container: null,
  };
}

/** `input_tokens` excludes tokens read from the cache or written to it; `output_tokens` includes thinking. */
function usageOf({ prompt, cached, written, completion, reasoning }: Tokens) {
  return {
    input_tokens: prompt - cached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: completion,
    output_tokens_details: { thinking_tokens: reasoning },
    server_tool_use: null,
  };
}

function wholeUsage(tokens: Tokens) {
  return {
    ...usageOf(tokens),
    cache_creation: { ephemeral_5m_input_tokens: tokens.written, ephemeral_1h_input_tokens: 0 },
    service_tier: 'standard',
    inference_geo: 'global',
    speed: 'standard',
  };
}

function messageOf(request: WireRequest, blocks: readonly Block[]) {
  const id = `msg_fake${++count}`;
  const { body } = request;
  keepThread(
    request,
    id,
    blocks.map(({ whole }) => whole),
  );
  return { id, type: 'message', role: 'assistant', model: body.model, container: null, diagnostics: null };
}

function reply(request: WireRequest, behaviour: Behaviour): object {
  const full = wholeRequest(request);
  const script = scriptOf(full, behaviour);
  if (request.path === COUNT_PATH) return { input_tokens: script.tokens?.prompt };
  const blocks = blocksOf(full, script);
  return {
    ...messageOf(request, blocks),
    content: blocks.map(({ whole }) => whole),
    ...stopOf(request, script, behaviour),
    ...(script.tokens && { usage: wholeUsage(script.tokens) }),
  };
}

/** The order of build-with-claude/streaming: the token counts so far at the start, the final counts at the end, and a ping in between. */
function events(request: WireRequest, behaviour: Behaviour): readonly string[] {
  const full = wholeRequest(request);
  const script = scriptOf(full, behaviour);
  const { tokens } = script;
  const blocks = blocksOf(full, script);
  const message = {
    ...messageOf(request, blocks),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    ...(tokens && { usage: wholeUsage({ ...tokens, completion: Math.min(1, tokens.completion), reasoning: 0 }) }),
  };
  const sent = [event({ type: 'message_start', message })];
  for (const [index, { start, deltas }] of blocks.entries()) {
    sent.push(event({ type: 'content_block_start', index, content_block: start }));
    if (index === 0) sent.push(event({ type: 'ping' }));
    for (const delta of deltas) sent.push(event({ type: 'content_block_delta', index, delta }));
    sent.push(event({ type: 'content_block_stop', index }));
  }
  const delta = stopOf(request, script, behaviour);
  sent.push(event({ type: 'message_delta', delta, ...(tokens && { usage: usageOf(tokens) }) }));
  return sent;
}
