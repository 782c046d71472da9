import { errorBody } from '../../core/api/error.ts';
import { ErrorBody } from '../../core/api/error-schema.ts';
import { exampleBody, exampleStream } from '../example.ts';
import { OPENAI_CLIENT } from '../openai-client.ts';
import type { AnswerRoute, Surface } from '../surface.ts';
import { CompletionsWriter, chunksWith, TextCompletion } from './answer.ts';
import { completionsRequest, OPENAI_COMPLETIONS, readCompletions } from './reader.ts';
import { CompletionsRequest, LACKS } from './request.ts';

const json: AnswerRoute['json'] = (identity) => new CompletionsWriter(identity);

/** `POST /v1/completions`. */
export const createTextCompletion: AnswerRoute = {
  kind: 'answer',
  operation: 'chat',
  method: 'POST',
  path: '/v1/completions',
  pays: false,
  docs: {
    summary: 'Continue a text',
    description:
      'OpenAI’s older completions, for the completion of code in editors. A model continues `prompt`, or fills the gap between `prompt` and `suffix`. Only endpoints that declare `completions` answer; a selector chooses among them. `echo`, `logprobs`, `best_of`, lists of tokens and fields of chats such as `tools` are refused. `budget_limit`, `constraints` and `Idempotency-Key` work as in chat completions.',
    request: CompletionsRequest,
    requests: {
      simple: { summary: 'Continue a text', value: { model: 'auto', prompt: 'def area(radius):', max_tokens: 64 } },
      fill: {
        summary: 'Fill a gap, streamed',
        value: {
          model: 'auto',
          prompt: 'def area(radius):\n',
          suffix: '\n\nprint(area(2))',
          max_tokens: 64,
          stream: true,
        },
      },
    },
    answer: {
      schema: TextCompletion,
      description: 'With `stream: false`, one JSON body.',
      get example() {
        return exampleBody(json, '\n    return 3.14 * radius ** 2');
      },
    },
    events: {
      schema: TextCompletion,
      end: '[DONE]',
      mediaType: 'text/event-stream',
      description:
        'With `stream: true`, server-sent events. Each `data:` line is one chunk, and the last chunk with a `finish_reason` contains `platform`. `data: [DONE]` ends a successful stream.',
      get example() {
        return exampleStream(chunksWith(true), '\n    return', ' 3.14');
      },
    },
    errorField: 'prompt',
  },
  read({ body, headers }) {
    const read = readCompletions(body);
    const events = read.stream ? chunksWith(read.stream_options?.include_usage === true) : null;
    return { request: completionsRequest(read, headers), events };
  },
  lacks: LACKS,
  owns: (body) => body.prompt != null && body.messages == null,
  json,
};

/** The surface for OpenAI's older completions. */
export const openaiCompletions: Surface = {
  name: OPENAI_COMPLETIONS,
  dialect: 'OpenAI Completions',
  maker: 'OpenAI',
  routes: [createTextCompletion],
  error: ErrorBody,
  errorBody,
  playground: {
    word: 'completions',
    label: 'Completions (OpenAI, older)',
    ...OPENAI_CLIENT,
    call: 'completions.create',
    prompt: { prompt: 'PROMPT', max_tokens: 256 },
    text: 'answer.choices[0].text',
    delta: "event.choices[0]?.text ?? ''",
  },
};
