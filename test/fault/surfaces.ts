import { expect } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';
import { isObject, type Json, listOf, objectOf, parseJson, textOf } from '../../plugins/providers/json.ts';
import type { Platform } from '../../src/core/decision/answer.ts';
import type { ErrorCode } from '../../src/core/errors.ts';
import { createMessage } from '../../src/dialects/anthropic-messages/surface.ts';
import { createCompletion } from '../../src/dialects/openai-chat/surface.ts';
import { createResponse } from '../../src/dialects/openai-responses/surface.ts';
import type { AnswerRoute } from '../../src/dialects/surface.ts';
import { CONTRACT } from '../support/error-contract.ts';
import { eventsIn, foldedMessage } from '../support/message-events.ts';
import { checkResponse, checkStream } from '../support/open-responses/schemas.ts';
import type { Dialect } from './dialect.ts';
import { chatContent, openaiFailure, openaiType } from './surface-chat.ts';

/** The content of an answer, in any dialect of a caller. */
export interface AnswerContent {
  readonly text: string;
  readonly tools: readonly { readonly id: string; readonly name: string; readonly arguments: unknown }[];
  /** Why the answer ended; null if it did not end. */
  readonly finish: 'stop' | 'tools' | null;
  readonly platform: Platform | undefined;
  /** The error of a stream that was cut. */
  readonly error: { readonly type: string; readonly code: string; readonly param: unknown } | undefined;
}

/** A dialect of callers: how the tests send requests in it and read its answers. */
export interface CallerSurface {
  readonly name: string;
  readonly path: string;
  /** Returns the path and the body of a request, in a dialect whose bodies do not name the model and the stream. */
  request?(model: string, isStream: boolean, body: object): { readonly path: string; readonly body: object };
  /** The route that reads its requests, and states what these requests cannot have. */
  readonly reads: AnswerRoute;
  /** The upstream dialect that gets these requests unchanged; null if there is none. */
  readonly passes: string | null;
  /** The adapters that accept its requests; undefined for every adapter. */
  readonly servedBy?: readonly string[];
  /** The upstream dialects in which its requests can fail; undefined for every dialect that chats use. */
  readonly wires?: readonly Dialect[];
  /** The field that contains the conversation. */
  readonly field: string;
  /**
   * The body of a request.
   * @param cap the output cap, tokens
   * @param tool the name of a tool to offer; null for none. A dialect without tools gets null: see `hasTools`.
   */
  body(cap: number, tool: string | null, question?: string): object;
  /** Reads a JSON answer. */
  content(body: Json): AnswerContent;
  /** Reads a stream, and checks what clients rely on. */
  streamed(text: string): AnswerContent;
  /** The error in a body, in the form of the error of a cut stream. */
  failure(body: Json): NonNullable<AnswerContent['error']>;
  /** The error type for this code. */
  typeOf(code: ErrorCode): string;
}

const QUESTION = 'Say hello.';
const platformIn = ({ platform }: Json): Platform | undefined => platform as Platform | undefined;

export const chat: CallerSurface = {
  name: 'chat',
  path: '/v1/chat/completions',
  reads: createCompletion,
  passes: null,
  field: 'messages',
  body: (cap, name, question = QUESTION) => ({
    messages: [{ role: 'user', content: question }],
    max_tokens: cap,
    ...(name !== null && { tools: [{ type: 'function', function: { name } }], tool_choice: 'auto' }),
  }),
  ...chatContent,
  failure: openaiFailure,
  typeOf: openaiType,
};

/** Anthropic's types of the errors that upstreams can cause, by Signalbox's code. */
const MESSAGES_TYPES: Partial<Record<ErrorCode, string>> = {
  upstream_failed: 'api_error',
  upstream_timeout: 'timeout_error',
  upstream_rate_limited: 'rate_limit_error',
  upstream_out_of_credit: 'api_error',
  no_healthy_model: 'overloaded_error',
};

function messageContent(message: Json): Omit<AnswerContent, 'error'> {
  const blocks = listOf(message.content).map(objectOf);
  const reason = message.stop_reason;
  return {
    text: blocks.map(({ text }) => textOf(text)).join(''),
    tools: blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, name, input }) => ({ id: textOf(id), name: textOf(name), arguments: input })),
    finish: reason === 'end_turn' ? 'stop' : reason === 'tool_use' ? 'tools' : null,
    platform: platformIn(message),
  };
}

export const messages: CallerSurface = {
  name: 'messages',
  path: '/v1/messages',
  reads: createMessage,
  passes: 'anthropic',
  field: 'messages',
  body: (cap, name, question = QUESTION) => ({
    messages: [{ role: 'user', content: question }],
    max_tokens: cap,
    ...(name !== null && { tools: [{ name, input_schema: { type: 'object' } }], tool_choice: { type: 'auto' } }),
  }),
  content: (body) => ({ ...messageContent(body), error: undefined }),
  streamed(text) {
    const events = eventsIn(text);
    const last = events.at(-1)!;
    if (last.type !== 'error') {
      const { message, platform } = foldedMessage(text);
      return { ...messageContent({ ...message, platform }), error: undefined };
    }
    const good = events.slice(0, -1);
    expect(good.filter(({ type }) => type === 'message_delta' || type === 'message_stop')).toEqual([]);
    const said = good.map(({ delta }) => textOf(objectOf(delta).text)).join('');
    return { text: said, tools: [], finish: null, platform: platformIn(last), error: messages.failure(last) };
  },
  failure(body) {
    expect(body.type).toBe('error');
    const { type, details } = objectOf(body.error);
    const { error_code: code, param = null } = objectOf(details);
    return { type: textOf(type), code: textOf(code), param };
  },
  typeOf: (code) => MESSAGES_TYPES[code] ?? CONTRACT[code][1],
};

function responseContent(response: Json): AnswerContent {
  const items = listOf(response.output).map(objectOf);
  const calls = items.filter(({ type }) => type === 'function_call');
  return {
    text: items
      .flatMap(({ content }) => listOf(content).map(objectOf))
      .map(({ text }) => textOf(text))
      .join(''),
    tools: calls.map((call) => ({
      id: textOf(call.call_id),
      name: textOf(call.name),
      arguments: parseJson(textOf(call.arguments)),
    })),
    finish: response.status !== 'completed' ? null : calls.length > 0 ? 'tools' : 'stop',
    platform: platformIn(response),
    error: undefined,
  };
}

export const responses: CallerSurface = {
  name: 'responses',
  path: '/v1/responses',
  reads: createResponse,
  passes: 'responses',
  field: 'input',
  body: (cap, name, question = QUESTION) => ({
    input: question,
    max_output_tokens: cap,
    ...(name !== null && {
      tools: [{ type: 'function', name, parameters: { type: 'object' }, strict: false }],
      tool_choice: 'auto',
    }),
  }),
  content(body) {
    checkResponse(body);
    return responseContent(body);
  },
  streamed(text) {
    const events = checkStream(text);
    const response = events.at(-1)!.response;
    if (!isObject(response)) throw new Error('the stream has no response');
    if (response.status !== 'failed') return responseContent(response);
    const error = events.at(-2)!;
    expect(error.type).toBe('error');
    expect(response.error).toMatchObject({ code: error.code });
    const said = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => textOf(delta));
    return { ...responseContent(response), text: said.join(''), error: openaiFailure(error) };
  },
  failure: openaiFailure,
  typeOf: openaiType,
};

const FOLDERS = join(import.meta.dir, '../dialects');

/** The dialects of callers: the ones above, and the file `caller.ts` in the folder of a dialect's tests. */
export const SURFACES: readonly CallerSurface[] = [
  ...[chat, messages, responses],
  ...(await Promise.all(
    [...new Glob('*/caller.ts').scanSync(FOLDERS)].map(async (path): Promise<CallerSurface> => {
      const { CALLER }: { readonly CALLER: CallerSurface } = await import(join(FOLDERS, path));
      return CALLER;
    }),
  )),
];

export const hasTools = ({ reads }: CallerSurface): boolean => reads.lacks?.tools === undefined;
export const isServedBy = ({ servedBy }: CallerSurface, adapter: string): boolean =>
  servedBy?.includes(adapter) ?? true;
/** Whether its errors have OpenAI's form. */
export const hasOpenAiErrors = ({ failure }: CallerSurface): boolean => failure === openaiFailure;

/** Returns the path and the body of a request in a dialect. */
export const requestIn = (surface: CallerSurface, model: string, isStream: boolean, body: object) =>
  surface.request?.(model, isStream, body) ?? { path: surface.path, body: { model, ...body, stream: isStream } };
