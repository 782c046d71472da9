import { modelRequest } from '../../core/request/model-request.ts';
import { compileRead } from '../../core/schema/validation.ts';
import { exampleBody, exampleStream } from '../example.ts';
import type { AnswerDocs, AnswerRoute, Surface } from '../surface.ts';
import { checkMessages } from './check.ts';
import { countTokens } from './count.ts';
import { errorBody } from './error.ts';
import { MessagesError } from './error-schema.ts';
import { MESSAGE_EVENTS } from './events.ts';
import { MESSAGES_REQUESTS } from './examples.ts';
import { requestHeaders } from './headers.ts';
import { MessageWriter } from './message.ts';
import { MessagesAnswer, MessagesEvent } from './message-schema.ts';
import { isMessagesBody } from './own-form.ts';
import { ANTHROPIC_MESSAGES, MESSAGES_READER } from './reader.ts';
import { MessagesRequest } from './request.ts';

const checked = compileRead(MessagesRequest, 'messages');

/**
 * Reads the body of a message request. `readMessages` keeps nulls, except in `route_strategy` and `constraints`.
 * @throws SignalboxError for the field at fault.
 */
function readMessages(body: unknown): MessagesRequest {
  const request = checked(body);
  checkMessages(request);
  return request;
}

const json: AnswerRoute['json'] = (identity) => new MessageWriter(identity);

const docs: AnswerDocs = {
  summary: 'Create a message',
  description: `Anthropic’s Messages API, for Claude Code and other clients of that API, with every model of the policy. \`model\` is
the ID of a model, or a selector, which chooses a model. Signalbox translates requests for models of other providers; the answer lists
fields without a counterpart in \`platform.dropped\`. \`budget_limit\`, \`route_strategy\`, \`constraints\` and \`Idempotency-Key\` work as
in chat completions. If a fund pays for the request, fields with extra charges that have no price in the catalog are rejected with
400 \`unsupported_parameter\`.`,
  request: MessagesRequest,
  requests: MESSAGES_REQUESTS,
  answer: {
    schema: MessagesAnswer,
    description: 'Without `stream`, one JSON body.',
    get example() {
      return exampleBody(json, 'Hello! How can I help you?');
    },
  },
  events: {
    schema: MessagesEvent,
    mediaType: 'text/event-stream',
    description:
      'With `stream: true`, server-sent events in Anthropic’s order. `message_delta` contains `platform`. A stream that fails after its first part ends with the event `error`, without `message_stop`.',
    get example() {
      return exampleStream(MESSAGE_EVENTS, 'Hello!');
    },
  },
  errorField: 'messages[0].content',
};

/** Maps fields of OpenAI's dialect to the Messages fields to use instead. */
const FOREIGN_FIELDS: ReadonlyMap<string, string> = new Map([
  ['max_completion_tokens', '`max_tokens`'],
  ['stop', '`stop_sequences`'],
  ['reasoning_effort', '`output_config.effort`'],
  ['response_format', '`output_config.format`'],
  ['parallel_tool_calls', '`tool_choice.disable_parallel_tool_use`'],
  ['user', '`metadata.user_id`'],
]);

/** `POST /v1/messages`. */
export const createMessage: AnswerRoute = {
  kind: 'answer',
  operation: 'chat',
  method: 'POST',
  path: '/v1/messages',
  pays: true,
  docs,
  read({ body, headers }) {
    const message = readMessages(body);
    const passed = requestHeaders(headers, message.metadata?.session_id);
    const request = modelRequest(message, MESSAGES_READER, passed);
    return { request, events: request.stream ? MESSAGE_EVENTS : null };
  },
  owns: isMessagesBody,
  json,
};

/** The surface for Anthropic's Messages. */
export const anthropicMessages: Surface = {
  name: ANTHROPIC_MESSAGES,
  dialect: 'Anthropic Messages',
  maker: 'Anthropic',
  routes: [createMessage, countTokens],
  foreignFields: FOREIGN_FIELDS,
  error: MessagesError,
  errorBody,
  requestIdHeader: 'request-id',
  versionHeader: 'anthropic-version',
  keyHeaders: ['x-api-key'],
  unserved: [{ path: /^\/messages\//, name: 'this part of Anthropic’s API' }],
  playground: {
    word: 'messages',
    label: 'Messages (Anthropic)',
    base: '',
    client: { package: '@anthropic-ai/sdk', name: 'Anthropic', key: 'apiKey: null, authToken: KEY' },
    call: 'messages.create',
    prompt: { max_tokens: 1_024, messages: [{ role: 'user', content: 'PROMPT' }] },
    text: 'answer.content',
    delta: "event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : ''",
  },
};
