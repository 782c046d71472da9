import { Type } from '@sinclair/typebox';
import { exampleBody, exampleStream } from '../example.ts';
import type { AnswerDocs, AnswerRoute, Surface } from '../surface.ts';
import { eventsFor, ResponseWriter } from './answer.ts';
import { countTokens } from './count.ts';
import { batchEmbedContents, embedContent } from './embeddings.ts';
import { errorBody, GeminiError } from './error.ts';
import { GEMINI_REQUESTS } from './examples.ts';
import { listGeminiModels } from './models.ts';
import { GOOGLE_GEMINI, readGenerate } from './reader.ts';
import { GenerateRequest } from './request.ts';
import { GenerateResponse } from './response-schema.ts';

const json: AnswerRoute['json'] = (identity) => new ResponseWriter(identity, false);
const jsonWithThoughts: AnswerRoute['json'] = (identity) => new ResponseWriter(identity, true);

const docs: AnswerDocs = {
  summary: 'Generate content, as in Gemini’s API',
  description: `Google’s Gemini API, for gemini-cli, the google-genai libraries and other clients, with every model of the policy. The model in the
path is the ID of a model, or a selector, which chooses a model. Send the key in \`x-goog-api-key\`, or as \`?key=\`. Signalbox translates requests for
models of other providers; the answer lists fields without a counterpart in \`platform.dropped\`. \`budget_limit\`, \`route_strategy\`,
\`constraints\` and \`Idempotency-Key\` work as in chat completions. Google’s own tools, uploaded files and cached contents are refused.`,
  request: GenerateRequest,
  requests: GEMINI_REQUESTS,
  answer: {
    schema: GenerateResponse,
    description: 'One JSON body.',
    get example() {
      return exampleBody(json, 'Hello! How can I help you?');
    },
  },
  errorField: 'contents[0].parts[0].text',
};

/** `:generateContent`. */
export const generateContent: AnswerRoute = {
  kind: 'answer',
  operation: 'chat',
  method: 'POST',
  path: '/v1beta/models/{model}:generateContent',
  alsoAt: ['/v1/models/{model}:generateContent'],
  pays: false,
  docs,
  read({ body, params, headers }) {
    const { request, showsThoughts } = readGenerate(body, params.model, headers, false);
    return { request, events: null, json: showsThoughts ? jsonWithThoughts : json };
  },
  owns: (body) => body.contents != null && body.messages == null,
  json,
};

/** `:streamGenerateContent`: server-sent events with `alt=sse`, else a JSON list. */
const streamGenerateContent: AnswerRoute = {
  kind: 'answer',
  operation: 'chat',
  method: 'POST',
  path: '/v1beta/models/{model}:streamGenerateContent',
  alsoAt: ['/v1/models/{model}:streamGenerateContent'],
  pays: false,
  docs: {
    ...docs,
    summary: 'Generate content as a stream, as in Gemini’s API',
    answer: {
      schema: Type.Array(GenerateResponse),
      description: 'Without `alt=sse`, one JSON list of responses. The last one has `usageMetadata` and `platform`.',
      get example() {
        return JSON.parse(exampleStream(eventsFor('', false), 'Hel', 'lo!'));
      },
    },
    events: {
      schema: GenerateResponse,
      mediaType: 'text/event-stream',
      description:
        'With `?alt=sse`, server-sent events. Each `data:` line is one response, and the last one has `finishReason`, `usageMetadata` and `platform`. A stream that fails after its headers were sent ends with `data: {"error": …}`.',
      get example() {
        return exampleStream(eventsFor('alt=sse', false), 'Hel', 'lo!');
      },
    },
  },
  read({ body, params, headers, query }) {
    const { request, showsThoughts } = readGenerate(body, params.model, headers, true);
    return { request, events: eventsFor(query, showsThoughts) };
  },
  json,
};

/** The surface for Google's Gemini API. */
export const googleGemini: Surface = {
  name: GOOGLE_GEMINI,
  dialect: 'Google Gemini',
  maker: 'Google',
  routes: [generateContent, streamGenerateContent, countTokens, embedContent, batchEmbedContents, listGeminiModels],
  foreignFields: new Map([
    ['messages', '`contents`'],
    ['system', '`systemInstruction`'],
    ...['max_tokens', 'temperature', 'top_p', 'stop', 'response_format', 'reasoning_effort'].map(
      (field) => [field, 'a member of `generationConfig`'] as const,
    ),
  ]),
  error: GeminiError,
  errorBody,
  versionHeader: 'x-goog-api-key',
  keyHeaders: ['x-goog-api-key'],
  keyParameter: 'key',
  unserved: [
    { path: /^\/(?:upload\/|download\/)?v1beta\/(?:files|.*\/files)/, name: 'the files of Gemini’s API' },
    { path: /^\/v1beta\/cachedContents/, name: 'the cached contents of Gemini’s API' },
    { path: /^\/ws\/google\./, name: 'Gemini’s Live API' },
    {
      path: /^\/(?:v1(?:beta)?\/)?models\/.*:(?:predict|[a-z]+(?:[A-Z][a-z]+)+)$/,
      name: 'this method of Gemini’s API',
      isMethod: true,
    },
    { path: /^\/v1(?:beta1)?\/(?:projects|publishers)\//, name: 'the API of Vertex AI' },
    { path: /^\/(?:upload\/)?v1(?:beta|alpha)\//, name: 'this part of Gemini’s API' },
  ],
  playground: {
    word: 'gemini',
    label: 'Gemini (Google)',
    base: '',
    client: { package: '@google/genai', name: 'GoogleGenAI', key: 'apiKey: KEY' },
    call: 'models.generateContent',
    prompt: { contents: [{ role: 'user', parts: [{ text: 'PROMPT' }] }] },
    text: 'answer.candidates[0].content.parts[0].text',
    delta: null,
  },
};
