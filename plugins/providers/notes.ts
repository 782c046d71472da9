import {
  type AnswerFormat,
  type ModelRequest,
  type OriginalPath,
  pathText,
  type ToolDefinition,
  type Turn,
} from 'signalbox/plugin';
import { isObject, type Json, objectOf } from './json.ts';

/** The notes of one translation: the dropped fields, and the first field that makes the translation impossible. */
export class Notes {
  readonly #dropped = new Set<string>();
  /** The reason why the request cannot be translated; '' if it can. */
  refusal = '';

  get dropped(): readonly string[] {
    return [...this.#dropped];
  }

  /** @param field a path in the request, such as `messages[2].name` */
  drop(field: string): void {
    this.#dropped.add(field);
  }

  /**
   * Returns the value of a setting to send. If the model does not accept the setting, `sent` notes the setting as dropped and returns
   * undefined.
   */
  sent<Value>(field: string, value: Value, isTaken: boolean): Value | undefined {
    if (isTaken) return value;
    if (value != null) this.drop(field);
    return undefined;
  }

  /** @returns an empty list, which replaces the rejected part */
  refuse(field: string, why: string): never[] {
    this.refusal ||= `${field} ${why}`;
    return [];
  }
}

/** Returns the schema of an answer with its description inside, because these dialects have no separate field for the description. */
export function answerSchema({ schema, description, valueAt }: AnswerFormat, notes: Notes): Json | undefined {
  if (!schema && description) notes.drop(`${pathText(valueAt)}.description`);
  return schema && description ? { description, ...schema } : schema;
}

/** Returns the object of a tool that contains a `cache_control`, with its path. Some clients put `cache_control` inside `function`. */
export function hintsOfTool(request: ModelRequest, { at, valueAt }: ToolDefinition): { owner: Json; path: string }[] {
  return [at, valueAt].flatMap((place: OriginalPath) => {
    const owner = request.originalAt(place);
    return isObject(owner) && owner.cache_control != null ? [{ owner, path: pathText(place) }] : [];
  });
}

/** Members of a turn or a part that adapters read: the reasoning of an earlier answer. */
const READ: ReadonlySet<string> = new Set(['reasoning_content', 'reasoning_details', 'extra_content']);

/**
 * Returns the paths of members of turns, parts and tools that have no neutral name, because a translation loses them. The list of paths is
 * empty for a request in OpenAI's chat dialect, whose clients send received members back.
 * @param alsoRead further members that the translation reads
 */
export function unnamedMembers(request: ModelRequest, alsoRead: readonly string[] = []): readonly string[] {
  const { conversation, original } = request;
  if (original.dialect === 'openai-chat') return [];
  const paths = new Set<string>();
  const isLost = (extras: Json, name: string): boolean =>
    !READ.has(name) && !alsoRead.includes(name) && extras[name] != null && extras[name] !== false;
  const add = ({ extras, at, alsoAt }: { readonly extras: Json } & Pick<Turn, 'at' | 'alsoAt'>) => {
    if (!alsoAt) {
      for (const name in extras) if (isLost(extras, name)) paths.add(pathText([...at, name]));
      return;
    }
    // A turn that was made from several items has the members of all these items.
    for (const place of [at, ...alsoAt]) {
      const item = objectOf(request.originalAt(place));
      for (const name in item) {
        if (item[name] != null && Object.hasOwn(extras, name) && isLost(extras, name))
          paths.add(pathText([...place, name]));
      }
    }
  };
  for (const turn of conversation.turns) {
    add(turn);
    for (const part of turn.parts) add(part);
  }
  for (const tool of conversation.tools) add(tool);
  return [...paths];
}
