import { Type } from '@sinclair/typebox';
import type { AnswerRoute, Surface } from '../../../src/dialects/surface.ts';
import { LINES, OllamaWriter } from './answer.ts';
import { checkOllama, OllamaRequest, readOllama } from './request.ts';

const head = { model: 'gpt-6-luna', created_at: '2026-11-20T09:30:00.000Z' };
const last = { ...head, message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop' };

const OllamaAnswer = Type.Object(
  {
    model: Type.String({ description: 'The model that answered.' }),
    created_at: Type.String({ description: 'ISO 8601.' }),
    message: Type.Object({}, { description: 'The message, or its next piece.' }),
    done: Type.Boolean({ description: 'True in the last object.' }),
  },
  { title: 'OllamaAnswer', description: 'An answer, or one line of it.' },
);

/** Ollama's `POST /api/chat`. */
export const createChat: AnswerRoute = {
  kind: 'answer',
  operation: 'chat',
  method: 'POST',
  path: '/api/chat',
  pays: false,
  docs: {
    summary: 'Chat, as Ollama has it',
    description: 'A stream unless `stream` is false.',
    request: OllamaRequest,
    requests: {
      simple: { summary: 'A stream', value: { model: 'auto', messages: [{ role: 'user', content: 'Say hello.' }] } },
    },
    answer: { schema: OllamaAnswer, description: 'With `stream: false`, one JSON body.', example: last },
    events: {
      schema: OllamaAnswer,
      description: 'Else one JSON object a line.',
      example: `${JSON.stringify(last)}\n`,
      mediaType: 'application/x-ndjson',
    },
    errorField: 'messages[0].content',
  },
  read({ body }) {
    const request = readOllama(checkOllama(body));
    return { request, events: request.stream ? LINES : null };
  },
  json: (identity) => new OllamaWriter(identity),
};

/** The dialect of Ollama's own chat. */
export const ollamaChat: Surface = {
  name: 'ollama-chat',
  dialect: 'Ollama Chat',
  maker: 'Ollama',
  routes: [createChat],
  error: Type.Object({ error: Type.String({ description: 'One or two sentences.' }) }),
  errorBody: ({ message }) => ({ error: message }),
};
