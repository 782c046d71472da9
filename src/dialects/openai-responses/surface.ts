import { errorBody as openaiError } from '../../core/api/error.ts';
import { ErrorBody } from '../../core/api/error-schema.ts';
import { withFallbackFields } from '../../core/api/routing-fields.ts';
import type { SignalboxError } from '../../core/errors.ts';
import { plainUsage } from '../../core/money/usage.ts';
import { exampleBody, exampleStream } from '../example.ts';
import { OPENAI_CLIENT } from '../openai-client.ts';
import { serverSentEvent } from '../server-sent-events.ts';
import type { AnswerDocs, AnswerRoute, RouteInput, Surface, WarmUp } from '../surface.ts';
import { ResponsesDialogue } from './dialogue.ts';
import { RESPONSES_REQUESTS } from './examples.ts';
import { isFrame, readResponses } from './read-body.ts';
import { OPENAI_RESPONSES, readResponsesRequest } from './reader.ts';
import { ResponsesRequest } from './request.ts';
import { IN_PROGRESS, ResponseText, usageBody } from './response.ts';
import { ResponseBody, ResponseEvent } from './response-schema.ts';
import { eventsFor, ResponseWriter } from './writers.ts';

/** The request that the example answers belong to. */
const simple = () => readResponses(RESPONSES_REQUESTS.simple.value);

const docs: AnswerDocs = {
  summary: 'Create a response',
  description: `OpenAI’s Responses, without stored responses: \`input\` contains the whole conversation, answers contain \`store: false\`,
and \`previous_response_id\`, \`conversation\`, \`item_reference\` and \`background\` are rejected. Set \`store: false\` in
clients that would otherwise rely on stored responses. \`model\` is the ID of a model, or a selector, which chooses a model according to
the policy. \`route_strategy\`, \`constraints\`, \`budget_limit\`, \`agent_wallet\`, \`fallbacks\`, \`models\` and the header \`Idempotency-Key\` work as in
chat completions. Send reasoning items back unchanged, because the model that wrote them continues from them.`,
  request: withFallbackFields(ResponsesRequest),
  requests: RESPONSES_REQUESTS,
  answer: {
    schema: ResponseBody,
    description: 'With `stream: false`, one JSON body.',
    get example() {
      return exampleBody((identity) => new ResponseWriter(identity, simple()), 'Hello!');
    },
  },
  events: {
    schema: ResponseEvent,
    mediaType: 'text/event-stream',
    description:
      'With `stream: true`, server-sent events. The last event, `response.completed` or `response.incomplete`, contains the complete response with `platform`. A stream that fails after its first event ends with `error` and `response.failed`.',
    get example() {
      return exampleStream(eventsFor(simple()), 'Hello!');
    },
  },
  errorField: 'input[0].content',
};

/** `POST /v1/responses`. */
export const createResponse: AnswerRoute = {
  kind: 'answer',
  operation: 'chat',
  method: 'POST',
  path: '/v1/responses',
  pays: true,
  docs,
  read({ body, headers }) {
    const read = readResponses(body);
    return {
      request: readResponsesRequest(read, headers),
      events: read.stream ? eventsFor(read) : null,
      json: (identity) => new ResponseWriter(identity, read),
    };
  },
  owns: (body) => body.messages == null && body.input != null && body.operation == null,
  json() {
    throw new Error('an answer repeats its request, so `read` must create its writer');
  },
  warmUp,
  dialogue: () => new ResponsesDialogue(),
};

/** The surface for OpenAI's Responses. */
export const openaiResponses: Surface = {
  name: OPENAI_RESPONSES,
  dialect: 'OpenAI Responses',
  maker: 'OpenAI',
  routes: [createResponse],
  error: ErrorBody,
  errorBody,
  // Clients of Azure OpenAI send their key in this header, whichever of OpenAI's APIs they use.
  keyHeaders: ['api-key'],
  unserved: [{ path: /^\/responses\//, name: 'this part of OpenAI’s Responses' }],
  playground: {
    word: 'responses',
    label: 'Responses (OpenAI)',
    ...OPENAI_CLIENT,
    call: 'responses.create',
    prompt: { input: 'PROMPT' },
    text: 'answer.output_text',
    delta: "event.type === 'response.output_text.delta' ? event.delta : ''",
  },
};

/** Returns the body of an error: OpenAI's form, or the provider's own error body if the request was passed on unchanged. */
function errorBody(error: SignalboxError): object {
  const { original } = error.info;
  return original?.dialect === OPENAI_RESPONSES ? original.body : openaiError(error);
}

/**
 * Reads a frame that requires no answer. Codex announces its instructions and tools with a frame that requires no answer.
 * @returns null for any other request
 * @throws SignalboxError for the field at fault
 */
function warmUp({ body, headers }: RouteInput): WarmUp | null {
  if (!isFrame(body) || body.generate !== false) return null;
  const read = readResponses(body);
  return {
    request: readResponsesRequest(read, headers),
    answer(identity) {
      const response = new ResponseText(identity, read);
      const end = { ...IN_PROGRESS, status: 'completed', completedAt: identity.created } as const;
      return [
        ['response.created', IN_PROGRESS] as const,
        ['response.completed', { ...end, usage: usageBody(plainUsage(0, 0)) }] as const,
      ]
        .map(([type, state], at) =>
          serverSentEvent(type, `{"type":"${type}","sequence_number":${at},"response":${response.of(state)}}`),
        )
        .join('');
    },
  };
}
