import {
  type AnswerFormat,
  type ModelRequest,
  type OriginalPath,
  pathText,
  type ToolDefinition,
} from 'signalbox/plugin';
import { isObject, type Json } from './json.ts';

/** Notes of one translation: the dropped fields, and the first field that makes it impossible. */
export class Notes {
  readonly #dropped = new Set<string>();
  /** Why the request cannot be translated; empty while it can. */
  refusal = '';

  get dropped(): readonly string[] {
    return [...this.#dropped];
  }

  /** @param field a path in the request, such as `messages[2].name` */
  drop(field: string): void {
    this.#dropped.add(field);
  }

  refuse(field: string, why: string): void {
    this.refusal ||= `${field} ${why}`;
  }
}

/** The schema for an answer, with its description inside: these dialects have no separate field for it. */
export function answerSchema({ schema, description, valueAt }: AnswerFormat, notes: Notes): Json | undefined {
  if (!schema && description) notes.drop(`${pathText(valueAt)}.description`);
  return schema && description ? { description, ...schema } : schema;
}

/** The object of a tool that bears a `cache_control`, with its path; some clients put the hint inside `function`. */
export function hintsOfTool(request: ModelRequest, { at, valueAt }: ToolDefinition): { owner: Json; path: string }[] {
  return [at, valueAt].flatMap((place: OriginalPath) => {
    const owner = request.originalAt(place);
    return isObject(owner) && owner.cache_control != null ? [{ owner, path: pathText(place) }] : [];
  });
}
