import { ChatRequest } from '../../core/api/chat-request.ts';
import { errorBody } from '../../core/api/error.ts';
import { ErrorBody } from '../../core/api/error-schema.ts';
import { withFallbackFields } from '../../core/api/routing-fields.ts';
import { isObject } from '../../core/json/object.ts';
import { exampleBody, exampleStream } from '../example.ts';
import { OPENAI_CLIENT } from '../openai-client.ts';
import { readResponses } from '../openai-responses/read-body.ts';
import { readResponsesRequest } from '../openai-responses/reader.ts';
import type { AnswerDocs, AnswerRoute, Surface } from '../surface.ts';
import { CHUNKS, CHUNKS_WITH_USAGE } from './chunks.ts';
import { CompletionWriter } from './completion.ts';
import { ChatCompletion, ChatCompletionChunk } from './completion-schema.ts';
import { CHAT_REQUESTS } from './examples.ts';
import { FOREIGN_FIELDS } from './foreign-fields.ts';
import { listModels } from './models.ts';
import { readChat } from './read-body.ts';
import { OPENAI_CHAT, readChatRequest } from './reader.ts';

const json: AnswerRoute['json'] = (identity) => new CompletionWriter(identity);

const docs: AnswerDocs = {
  summary: 'Create a chat completion',
  description: `OpenAI’s chat completions. \`model\` is the ID of a model, or a selector, which chooses a model according to the policy.
\`budget_limit\` is a hard limit; \`route_strategy\` and \`constraints\` influence the choice. \`fallbacks\`, or
\`models\`, lists at most 8 models to try next, if the policy allows it. Fields that Signalbox does not
know are passed on if the policy says so, and otherwise listed in \`platform.dropped\`. A field that differs from a known one in a single
letter is an error. With the header \`Idempotency-Key\` (1 to 255 printable ASCII characters), a repeated request gets the same answer for
24 hours and is charged once; the header \`x-signalbox-replayed: true\` marks the repeated answer.
If the policy accepts x402 payments, a request without an API key gets 402 with a quote, and is answered when it is
sent again with the header \`PAYMENT-SIGNATURE\`. A body with \`input\` instead of \`messages\` is read as a Responses request.`,
  request: withFallbackFields(ChatRequest),
  requests: CHAT_REQUESTS,
  answer: {
    schema: ChatCompletion,
    description: 'With `stream: false`, one JSON body.',
    get example() {
      return exampleBody(json, 'Hello! How can I help you?');
    },
  },
  events: {
    schema: ChatCompletionChunk,
    end: '[DONE]',
    mediaType: 'text/event-stream',
    description:
      'With `stream: true`, server-sent events. Each `data:` line is one chunk, and the last chunk with a `finish_reason` contains `platform`. `data: [DONE]` ends a successful stream. A stream that fails after its headers were sent ends with `data: {"error": …, "platform": …}` and without `[DONE]`. The server closes its connection 250 ms later, unless the policy has `failed_streams: end`.',
    get example() {
      return exampleStream(CHUNKS_WITH_USAGE, 'Hel', 'lo!');
    },
  },
  errorField: 'messages[0].content',
};

function eventsFor({ stream, stream_options: options }: Pick<ChatRequest, 'stream' | 'stream_options'>) {
  if (!stream) return null;
  return options?.include_usage === true ? CHUNKS_WITH_USAGE : CHUNKS;
}

/** `POST /v1/chat/completions`. */
export const createCompletion: AnswerRoute = {
  kind: 'answer',
  operation: 'chat',
  method: 'POST',
  path: '/v1/chat/completions',
  pays: true,
  docs,
  read({ body, headers }) {
    // For some models Cursor sends Responses bodies to the path of chat completions, and reads chat completions.
    if (isObject(body) && body.messages == null && body.input != null) {
      const read = readResponses(body);
      return { request: readResponsesRequest(read, headers), events: eventsFor(read) };
    }
    const chat = readChat(body);
    return { request: readChatRequest(chat, headers), events: eventsFor(chat) };
  },
  json,
};

/** The surface for OpenAI's chat completions, with the list of models that the clients of all dialects share. */
export const openaiChat: Surface = {
  name: OPENAI_CHAT,
  dialect: 'OpenAI Chat Completions',
  maker: 'OpenAI',
  routes: [createCompletion, listModels],
  foreignFields: FOREIGN_FIELDS,
  error: ErrorBody,
  errorBody,
  unserved: [
    { path: /^\/images\//, name: 'images' },
    { path: /^\/audio\//, name: 'audio' },
    { path: /^\/moderations$/, name: 'moderations' },
  ],
  playground: {
    word: 'chat',
    label: 'Chat completions (OpenAI)',
    ...OPENAI_CLIENT,
    call: 'chat.completions.create',
    prompt: { messages: [{ role: 'user', content: 'PROMPT' }] },
    text: 'answer.choices[0].message.content',
    delta: "event.choices[0]?.delta?.content ?? ''",
  },
};
