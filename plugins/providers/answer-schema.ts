import { type AnswerFormat, pathText } from 'signalbox/plugin';
import type { Json } from './json.ts';
import type { Notes } from './notes.ts';

/** The schema for an answer, with its description inside: these dialects have no separate field for it. */
export function answerSchema({ schema, description, valueAt }: AnswerFormat, notes: Notes): Json | undefined {
  if (!schema && description) notes.drop(`${pathText(valueAt)}.description`);
  return schema && description ? { description, ...schema } : schema;
}
