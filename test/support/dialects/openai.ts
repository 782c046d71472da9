import { isObject, type Json, listOf, parseJson, textOf } from '../../../plugins/providers/json.ts';
import { asChat, completionOf, isCompletion } from '../../dialects/openai-completions/fake.ts';
import { chunksOf, errorBody, replyOf } from '../openai-wire.ts';
import {
  type Asked,
  type Dialect,
  dataUrl,
  type Failure,
  type FailureKind,
  lines,
  mergedTurns,
  refusalBy,
  type Turn,
  turn,
  type WireRequest,
} from './dialect.ts';
import { checkResponses } from './openai-input.ts';
import { asked as askedOfResponses, eventsOf, responseOf } from './openai-responses.ts';
import { checkChat } from './openai-rules.ts';

/** The dialect of OpenAI's chat completions, Responses and older completions. */
export const openai: Dialect = {
  basePath: '/v1',
  refusal,
  asksForStream: ({ body }) => body.stream === true,
  asked,
  reply(request, behaviour) {
    if (isResponses(request)) return responseOf(request, behaviour);
    const { body } = request;
    return isCompletion(request) ? completionOf(replyOf(asChat(body), behaviour)) : replyOf(body, behaviour);
  },
  events(request, behaviour) {
    if (isResponses(request)) return eventsOf(request, behaviour);
    const { body } = request;
    const chunks = isCompletion(request)
      ? chunksOf(asChat(body), behaviour).map(completionOf)
      : chunksOf(body, behaviour);
    return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  },
  end: 'data: [DONE]\n\n',
  endOf: (request) => (isResponses(request) ? '' : openai.end),
  failure: (kind) => FAILURES[kind],
  errorBody: (status, fields) => ({
    error: { ...errorBody(`status ${status}`, 'server_error', null).error, ...fields },
  }),
  headers: { 'x-request-id': 'req_fake' },
};

const isResponses = ({ path }: WireRequest): boolean => path === '/v1/responses';

function refused(status: number, message: string, type: string, code: string | null): Failure {
  return { status, body: errorBody(message, type, code) };
}

/** What the API refuses in a completion. */
function completionRefusal({ model, prompt, messages, tools }: Json): Failure | null {
  if (typeof model !== 'string' || typeof prompt !== 'string')
    return refused(400, 'you must provide a model parameter and a prompt', 'invalid_request_error', null);
  if (messages === undefined && tools === undefined) return null;
  return refused(400, 'Unrecognized request arguments supplied', 'invalid_request_error', null);
}

/** Codes and texts from platform.openai.com/docs/guides/error-codes. */
const FAILURES: Readonly<Record<FailureKind, Failure>> = {
  auth: refused(401, 'Incorrect API key provided: sk-fake.', 'invalid_request_error', 'invalid_api_key'),
  billing: refused(429, 'You exceeded your current quota.', 'insufficient_quota', 'insufficient_quota'),
  rejected: refused(400, "Invalid value for 'messages'.", 'invalid_request_error', 'invalid_value'),
  context: refused(
    400,
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens.",
    'invalid_request_error',
    'context_length_exceeded',
  ),
  not_found: refused(404, 'The model `m` does not exist.', 'invalid_request_error', 'model_not_found'),
  rate_limited: {
    ...refused(429, 'Rate limit reached for requests.', 'requests', 'rate_limit_exceeded'),
    headers: { 'retry-after': '1' },
  },
  overloaded: refused(503, 'The engine is currently overloaded, please try again later.', 'server_error', null),
  server: refused(500, 'The server had an error while processing your request.', 'server_error', null),
  timeout: refused(504, 'The request timed out.', 'server_error', null),
};

function refusal(request: WireRequest, key: string | undefined): Failure | null {
  const { method, path, headers, body } = request;
  if (key !== undefined && headers.get('authorization') !== `Bearer ${key}`) {
    const given = headers.get('authorization')?.replace(/^Bearer /, '') ?? '';
    const message = given ? `Incorrect API key provided: ${given}.` : "You didn't provide an API key.";
    return refused(401, message, 'invalid_request_error', 'invalid_api_key');
  }
  if (method === 'POST' && isResponses(request)) return refusalBy(() => checkResponses(body));
  if (method === 'POST' && isCompletion(request)) return completionRefusal(body);
  if (method !== 'POST' || path !== '/v1/chat/completions') {
    return refused(404, `Invalid URL (${method} ${path})`, 'invalid_request_error', null);
  }
  if (typeof body.model !== 'string' || !Array.isArray(body.messages)) {
    return refused(400, 'you must provide a model parameter and messages', 'invalid_request_error', null);
  }
  return refusalBy(() => checkChat(body));
}

const isInstruction = ({ role }: Json): boolean => role === 'system' || role === 'developer';

function asked(request: WireRequest): Asked {
  if (isResponses(request)) return askedOfResponses(request);
  const body = isCompletion(request) ? asChat(request.body) : request.body;
  const messages = listOf(body.messages).filter(isObject);
  const format = Object(body.response_format);
  const cap = body.max_completion_tokens ?? body.max_tokens;
  return {
    model: textOf(body.model),
    stream: body.stream === true,
    system: lines(...messages.filter(isInstruction).map(textIn)),
    turns: mergedTurns(messages.filter((message) => !isInstruction(message)).map(turnOf(messages))),
    tools: listOf(body.tools).map((tool) => textOf(Object(tool).function?.name)),
    toolChoice: choiceOf(body.tool_choice),
    maxTokens: typeof cap === 'number' ? cap : null,
    schema: format.type === 'json_schema' ? (Object(format.json_schema).schema ?? null) : null,
  };
}

function choiceOf(choice: unknown): Asked['toolChoice'] {
  if (!isObject(choice)) return choice === 'none' || choice === 'required' ? choice : 'auto';
  return [textOf(Object(choice.function).name)];
}

function turnOf(messages: readonly Json[]): (message: Json) => Turn {
  const calls = messages.flatMap(({ tool_calls }) => listOf(tool_calls).map(Object));
  return (message) => {
    if (message.role === 'tool') {
      const name = textOf(calls.find(({ id }) => id === message.tool_call_id)?.function?.name);
      return turn('user', { results: [{ name, text: textIn(message) }] });
    }
    return turn(message.role === 'assistant' ? 'assistant' : 'user', {
      text: textIn(message),
      media: listOf(message.content).filter(isObject).flatMap(mediaIn),
      calls: listOf(message.tool_calls).map((call) => {
        const { name, arguments: text } = Object(Object(call).function);
        return { name, input: parseJson(textOf(text)) };
      }),
    });
  };
}

function textIn({ content }: Json): string {
  return typeof content === 'string' ? content : lines(...listOf(content).map((part) => textOf(Object(part).text)));
}

function mediaIn({ image_url, input_audio, file }: Json): string[] {
  if (isObject(image_url)) return [textOf(image_url.url)];
  if (isObject(input_audio)) return [dataUrl(`audio/${String(input_audio.format)}`, input_audio.data)];
  return isObject(file) ? [textOf(file.file_data)] : [];
}
