import type { GuardText, GuardTextKind } from '../../contract/guard.ts';
import { TooLongForGuard } from '../../contract/guard-steps.ts';
import { beyondLimits } from '../../core/json/limits.ts';
import { digitsAt, type LongNumbers, longNumbersIn } from '../../core/json/long-numbers.ts';
import { isObject, parseJson, textOf } from '../../core/json/object.ts';
import { type Edit, type OriginalPath, pathKey } from '../../core/json/original.ts';
import type { Unreadable } from '../../core/policy/guards.ts';
import { type ContentPart, placesOf, type Turn, type TurnRole } from '../../core/request/conversation.ts';
import { stateIn } from '../../core/request/wrapped-state.ts';
import { hasRepeatedNames } from './repeated-names.ts';

/** A text of a request, with its location in the body. */
export interface RequestText extends GuardText {
  /** The location of the string or number that is, or contains, the text. */
  readonly at: OriginalPath;
  /** The location of the text in the JSON that the string at `at` contains; null if the string is no JSON. */
  readonly inside: OriginalPath | null;
  /** The tool call that the text belongs to, or whose result it is; null for none. */
  readonly call: string | null;
  /** Whether the text must not change: signed thoughts, and names that other parts of the request refer to. */
  readonly isFixed: boolean;
}

/** Members with an ID that a provider or the caller chose. Other parts of the conversation refer to it, so it never changes. */
const IDS: ReadonlySet<string> = new Set([
  ...['id', 'call_id', 'tool_call_id', 'tool_use_id', 'item_id', 'file_id', 'approval_request_id', 'response_id'],
  ...['previous_message_id', 'previous_response_id', 'container', 'prompt_cache_key', 'safety_identifier'],
]);
/** The form of an ID. A text in another form is inspected like any text. */
const ID = /^[\w.:|=+/-]{1,512}$/;
/** Members with state that only its model can read, and the types of the parts of a message that have them outside of thoughts. */
const STATE: ReadonlyMap<string, readonly unknown[]> = new Map([
  ['encrypted_content', ['compaction', 'web_search_result', 'advisor_redacted_result']],
  ['encrypted_index', ['web_search_result_location']],
  ['encrypted_stdout', ['encrypted_code_execution_result']],
  ['signature', ['compaction']],
]);
/** Members with the same state in anything that a model wrote, such as its calls. */
const SIGNED: ReadonlySet<string> = new Set(['thought_signature', 'thoughtSignature']);
/** The types of thoughts. */
const THOUGHT_TYPES: readonly unknown[] = ['thinking', 'reasoning', 'redacted_thinking'];
/** The types of thoughts whose member `data` is encrypted. */
const SEALED_TYPES: readonly unknown[] = ['redacted_thinking', 'reasoning.encrypted'];
/** Members of a tool with the credentials that its server needs. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'authorization_token', 'headers']);
/** Members with any JSON: arguments, schemas and members that callers name. In it, no name has a meaning. */
const FREE: ReadonlySet<string> = new Set([
  ...['input', 'arguments', 'parameters', 'input_schema', 'schema', 'metadata'],
  ...['args', 'response', 'parametersJsonSchema', 'responseSchema', 'responseJsonSchema', 'input_examples'],
]);
/** Members with thoughts of a model. They are signed, or their model needs them unchanged. */
const THOUGHTS: ReadonlySet<string> = new Set(['thinking', 'reasoning_details', 'extra_content']);
/** A string in JSON. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/g;
/** A number with fewer digits is never personal data. */
const NUMBER_MIN = 1_000_000;

/** The facts about a value that follow from its place in the body. */
export interface Place {
  readonly role: TurnRole | null;
  readonly kind: GuardTextKind;
  readonly call: string | null;
  readonly isFixed: boolean;
  /** Whether the value is any JSON, in which no name has a meaning. */
  readonly isFree: boolean;
  /** Whether the value belongs to a setting that Signalbox knows, such as `seed`, whose numbers are never personal data. */
  readonly isSetting: boolean;
}

/** Whether a walk reads the value of a part differently from any other value. */
export const hasOwnForm = ({ type }: ContentPart): boolean =>
  type !== 'text' && type !== 'refusal' && type !== 'native';

/** The most values in the arguments of all tool calls of a request or of one call of an answer: reading them takes some 20 ms. */
export const ARGUMENT_VALUES_MAX = 100_000;

/** How many values in arguments can still be read. All parts of a body share it. */
export interface ArgumentValues {
  left: number;
}

/** The texts of one part of a body, such as a message, and everything else that guards need to know about it. */
export class TextWalk {
  readonly texts: RequestText[] = [];
  readonly unreadable = new Set<Unreadable>();
  readonly rewrites: Edit[] = [];
  /** The names of members, tools and kinds that were seen, each once. */
  readonly names = new Set<string>();
  readonly #numbers: LongNumbers | null;
  readonly #values: ArgumentValues;
  readonly #parts = new Map<string, ContentPart>();
  readonly #roles = new Map<string, { readonly role: TurnRole; readonly call: string | null }>();

  /** @param turns that have a location in this part of the body @param numbers of the body */
  constructor(turns: readonly Turn[], numbers: LongNumbers | null, values: ArgumentValues) {
    this.#numbers = numbers;
    this.#values = values;
    for (const turn of turns) {
      const { role, toolCallId: call = null } = turn;
      for (const at of placesOf(turn)) this.#roles.set(pathKey(at), { role, call });
      for (const part of turn.parts) if (hasOwnForm(part)) this.#parts.set(pathKey(part.valueAt), part);
    }
  }

  /** The role of a turn at a location. */
  roleAt(at: OriginalPath): TurnRole | undefined {
    return this.#roles.get(pathKey(at))?.role;
  }

  value(value: unknown, at: OriginalPath, place: Place): void {
    const key = pathKey(at);
    const turn = at.length <= 4 ? this.#roles.get(key) : undefined;
    const here = turn ? { ...place, role: turn.role, call: turn.call } : place;
    const part = this.#parts.get(key);
    if (part) this.#part(part, value, at, here);
    else if (typeof value === 'string') this.add(value, at, here, null);
    else if (typeof value === 'number') this.#number(value, digitsAt(this.#numbers, value, at), at, here, null);
    else if (Array.isArray(value)) for (const [index, item] of value.entries()) this.value(item, [...at, index], here);
    else if (isObject(value)) this.#object(value, at, here);
  }

  #object(value: Readonly<Record<string, unknown>>, at: OriginalPath, place: Place): void {
    const { type } = value;
    const here = isOfMessage(place) && THOUGHT_TYPES.includes(type) ? thought(place) : place;
    for (const name of Object.keys(value)) this.member(value, name, at, here);
    if (!place.isFree && (value.file_id != null || type === 'file')) this.unreadable.add('files');
  }

  /** Walks over a member of an object, as its name says. */
  member(owner: Readonly<Record<string, unknown>>, name: string, at: OriginalPath, place: Place): void {
    this.names.add(name);
    const value = owner[name];
    const path = [...at, name];
    if (place.isFree) this.value(value, path, place);
    else if (isState(owner, name, place)) this.#state(value, path, place);
    else if (typeof value === 'string' && isFixedName(owner, name)) this.names.add(value);
    else if (name === 'data' && owner.type === 'base64' && !this.#parts.has(pathKey(path)))
      this.unreadable.add('files');
    else if (!isUninspected(name, value, place)) this.value(value, path, placeOfMember(name, value, place));
  }

  /** Walks over the value of a part: media, and the arguments of a tool call. */
  #part(part: ContentPart, value: unknown, at: OriginalPath, place: Place): void {
    if (part.type === 'tool-call') {
      const here: Place = { ...place, kind: 'tool_arguments', call: part.id, isFree: true };
      if (typeof value === 'string') this.#json(value, at, here);
      else if (isObject(value)) this.#object(value, at, here);
      return;
    }
    this.unreadable.add(part.type === 'image' ? 'images' : part.type === 'audio' ? 'audio' : 'files');
    // An address is a text, unlike the data of a medium.
    if (typeof value === 'string' && isAddress(value)) this.add(value, at, place, null);
    else if (isObject(value)) this.#object(value, at, place);
  }

  /** Walks over a string that is the JSON of a call's arguments. */
  #json(text: string, at: OriginalPath, place: Place): void {
    const limit = beyondLimits(text, this.#values.left);
    if (limit === 'values') throw tooManyValues();
    if (limit === 'depth') {
      this.#deepJson(text, at, { ...place, isFixed: true });
      return;
    }
    const parsed = parseJson(text);
    if (typeof parsed !== 'object' || parsed === null) {
      this.add(text, at, place, null);
      return;
    }
    // Of two members with the same name, a model reads both, but only one is inspected.
    if (hasRepeatedNames(text)) this.rewrites.push({ at, value: JSON.stringify(parsed) });
    const numbers = longNumbersIn(text);
    const visit = (value: unknown, inside: OriginalPath): void => {
      this.#values.left--;
      if (typeof value === 'string') this.add(value, at, place, inside);
      else if (typeof value === 'number') this.#number(value, digitsAt(numbers, value, inside), at, place, inside);
      else if (Array.isArray(value)) for (const [index, item] of value.entries()) visit(item, [...inside, index]);
      else if (isObject(value)) {
        for (const [name, member] of Object.entries(value)) {
          this.names.add(name);
          visit(member, [...inside, name]);
        }
      }
    };
    visit(parsed, []);
  }

  /** Adds the texts of JSON that is nested too deeply for a walk over its values: the whole text, and each string in it. */
  #deepJson(text: string, at: OriginalPath, place: Place): void {
    this.add(text, at, place, null);
    for (const [token] of text.matchAll(STRING)) {
      if (--this.#values.left < 0) throw tooManyValues();
      this.add(textOf(parseJson(token)), at, place, null);
    }
  }

  /** Notes state that only its model can read. The gateway can read the state that it wrapped itself. */
  #state(value: unknown, at: OriginalPath, place: Place): void {
    const own = typeof value === 'string' ? stateIn(value) : null;
    if (own) this.value({ ...own }, at, { ...thought(place), isFree: false });
    else if (typeof value === 'string' && value !== '') this.unreadable.add('encrypted');
    else if (typeof value === 'object') this.value(value, at, place);
  }

  /** @param digits of the number, as the caller wrote it */
  #number(value: number, digits: string, at: OriginalPath, place: Place, inside: OriginalPath | null): void {
    if ((place.isFree || !place.isSetting) && Math.abs(value) >= NUMBER_MIN) this.add(digits, at, place, inside);
  }

  add(text: string, at: OriginalPath, place: Place, inside: OriginalPath | null): void {
    if (text === '') return;
    const { role, kind, call, isFixed } = place;
    this.texts.push({ text, role, kind, call, isFixed, at, inside });
  }
}

/** Whether a member names a tool, a kind or a role. A message may name its speaker; nothing refers to that name. */
const isFixedName = (owner: Readonly<Record<string, unknown>>, name: string): boolean =>
  name === 'type' || name === 'role' || name === 'namespace' || (name === 'name' && !('role' in owner));

/** Whether a member is an ID, or a credential of a tool. */
const isUninspected = (name: string, value: unknown, { kind }: Place): boolean =>
  (IDS.has(name) && typeof value === 'string' && ID.test(value)) || (kind === 'definition' && CREDENTIALS.has(name));

/** Returns what is known about a member of a structured value. */
function placeOfMember(name: string, value: unknown, place: Place): Place {
  if (THOUGHTS.has(name) && isOfMessage(place)) return thought(place);
  if (!FREE.has(name) || typeof value !== 'object') return place;
  const isArguments = place.kind !== 'definition' && (name === 'input' || name === 'arguments');
  return { ...place, isFree: true, ...(isArguments && { kind: 'tool_arguments' }) };
}

const thought = (place: Place): Place => ({ ...place, kind: 'reasoning', isFixed: true });

/** Whether a value is a part of a message, and neither arguments nor the value of a member with any JSON. */
const isOfMessage = ({ kind, isFree }: Place): boolean => !isFree && (kind === 'text' || kind === 'reasoning');

/** Whether a member is state that only its model can read. Elsewhere, a member with the same name is a text. */
function isState({ type }: Readonly<Record<string, unknown>>, name: string, place: Place): boolean {
  if (!isOfMessage(place)) return false;
  if (name === 'data') return SEALED_TYPES.includes(type);
  if (SIGNED.has(name)) return place.kind === 'reasoning' || place.role === 'assistant';
  const types = STATE.get(name);
  return types !== undefined && (place.kind === 'reasoning' || types.includes(type));
}

const isAddress = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(text);

const tooManyValues = (): TooLongForGuard =>
  new TooLongForGuard(`the arguments of its tool calls have more than ${ARGUMENT_VALUES_MAX} values`);
