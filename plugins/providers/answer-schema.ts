import type { ChatRequest } from 'signalbox/plugin';
import type { Json } from './json.ts';
import type { Notes } from './notes.ts';

type Format = Extract<NonNullable<ChatRequest['response_format']>, { type: 'json_schema' }>;

/** The schema for an answer, with its description inside: these dialects have no separate field for it. */
export function answerSchema({ schema, description }: Format['json_schema'], notes: Notes): Json | undefined {
  if (!schema && description) notes.drop('response_format.json_schema.description');
  return schema && description ? { description, ...schema } : schema;
}
