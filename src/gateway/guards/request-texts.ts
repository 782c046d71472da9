import type { GuardText, GuardTextKind } from '../../contract/guard.ts';
import { isObject, parseJson } from '../../core/json/object.ts';
import { type Edit, type OriginalPath, valueAt, withEdits } from '../../core/json/original.ts';
import type { Unreadable } from '../../core/policy/guards.ts';
import { type ContentPart, placesOf, type TurnRole } from '../../core/request/conversation.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { stateIn } from '../../core/request/wrapped-state.ts';
import { hasRepeatedNames } from './repeated-names.ts';

/** A text of a request, with its location in the body. */
export interface RequestText extends GuardText {
  /** The location of the string or number that is, or contains, the text. */
  readonly at: OriginalPath;
  /** The location of the text in the JSON that the string at `at` contains; null if the string is no JSON. */
  readonly inside: OriginalPath | null;
  /** The texts of one message, or of one other part of the request, have the same number. */
  readonly group: number;
  /** The tool call that the text belongs to, or whose result it is; null for none. */
  readonly call: string | null;
  /** Whether the text must not change: signed thoughts, and names that other parts of the request refer to. */
  readonly isFixed: boolean;
}

/** Every text of a request that can reach a provider. */
export interface RequestTexts {
  readonly texts: readonly RequestText[];
  /** The kinds of content that are no texts. */
  readonly unreadable: ReadonlySet<Unreadable>;
  /** Edits that must be made before the texts describe the request completely. */
  readonly rewrites: readonly Edit[];
}

/**
 * Fields of the body that no provider receives, and the name of the model, which must be in the catalog. Lists of fallbacks are inspected,
 * because a provider receives them if the gateway does not use them.
 */
const OF_THE_GATEWAY: ReadonlySet<string> = new Set(['model', 'route_strategy', 'budget_limit', 'agent_wallet']);
/** Members with an ID that a provider or the caller chose. Other parts of the conversation refer to it, so it never changes. */
const IDS: ReadonlySet<string> = new Set([
  ...['id', 'call_id', 'tool_call_id', 'tool_use_id', 'item_id', 'file_id', 'approval_request_id', 'response_id'],
  ...['previous_message_id', 'previous_response_id', 'container', 'prompt_cache_key', 'safety_identifier'],
]);
/** The form of an ID. A text in another form is inspected like any text. */
const ID = /^[\w.:|=+/-]{1,512}$/;
/** Members with state that only its model can read. */
const STATE: ReadonlySet<string> = new Set([
  ...['encrypted_content', 'encrypted_index', 'encrypted_stdout', 'signature', 'thought_signature', 'thoughtSignature'],
]);
/** Members of a tool with the credentials that its server needs. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'authorization_token', 'headers']);
/** Members with any JSON: arguments, schemas and members that callers name. In it, no name has a meaning. */
const FREE: ReadonlySet<string> = new Set([
  ...['input', 'arguments', 'parameters', 'input_schema', 'schema', 'metadata'],
  ...['args', 'response', 'parametersJsonSchema', 'responseSchema', 'responseJsonSchema'],
]);
/** Fields with messages, items or texts. */
const MESSAGES: ReadonlySet<string> = new Set([
  ...['messages', 'input', 'system', 'instructions', 'contents', 'systemInstruction', 'prompt', 'suffix'],
  ...['content', 'requests'],
]);
const OF_THE_SYSTEM: ReadonlySet<string> = new Set(['system', 'instructions', 'systemInstruction']);
/** Members with thoughts of a model. They are signed, or their model needs them unchanged. */
const THOUGHTS: ReadonlySet<string> = new Set(['thinking', 'reasoning_details', 'extra_content']);
/** Fields with the definitions of tools, whose names must not change. */
const DEFINITIONS: ReadonlySet<string> = new Set([
  ...['tools', 'tool_choice', 'mcp_servers', 'response_format', 'text', 'output_config', 'output_format'],
]);

/** A number with fewer digits is never personal data. */
const NUMBER_MIN = 1_000_000;

/** Two locations never have the same key, although a caller may put any sign into the name of a member. */
const keyOf = (path: OriginalPath): string => JSON.stringify(path);

/** The facts about a value that follow from its place in the body. */
interface Place {
  readonly role: TurnRole | null;
  readonly kind: GuardTextKind;
  readonly group: number;
  readonly call: string | null;
  readonly isFixed: boolean;
  /** Whether the value is any JSON, in which no name has a meaning. */
  readonly isFree: boolean;
}

/**
 * Returns every text of a request, in every dialect. The walk goes over the original body, because providers of the same dialect receive the
 * body itself, with members that have no neutral form. The neutral form says which text belongs to which message.
 */
export function textsOfRequest(request: ModelRequest): RequestTexts {
  const walk = new TextWalk(request);
  walk.body();
  return walk;
}

class TextWalk implements RequestTexts {
  readonly texts: RequestText[] = [];
  readonly unreadable = new Set<Unreadable>();
  readonly rewrites: Edit[] = [];
  readonly #request: ModelRequest;
  readonly #parts = new Map<string, ContentPart>();
  readonly #roles = new Map<string, { readonly role: TurnRole; readonly call: string | null }>();
  /** The names of members, tools and kinds that were seen, each once. */
  readonly #names = new Set<string>();
  #group = 0;

  constructor(request: ModelRequest) {
    this.#request = request;
    for (const turn of request.conversation.turns) {
      const { role, toolCallId: call = null } = turn;
      for (const at of placesOf(turn)) this.#roles.set(keyOf(at), { role, call });
      for (const part of turn.parts) {
        if (part.type !== 'text' && part.type !== 'refusal' && part.type !== 'native')
          this.#parts.set(keyOf(part.valueAt), part);
      }
    }
  }

  body(): void {
    const { body } = this.#request.original;
    const other = this.#next({ kind: 'other', role: null });
    for (const [name, value] of Object.entries(body)) {
      if (OF_THE_GATEWAY.has(name)) continue;
      if (MESSAGES.has(name)) {
        this.#messages(name, value);
      } else {
        const isDefinition = DEFINITIONS.has(name);
        const place = isDefinition ? this.#next({ kind: 'definition', role: null }) : other;
        this.#member(body, name, [], { ...place, isFree: name === 'metadata' });
      }
    }
    const { run, passed } = this.#request.headers;
    // No provider receives the names of the session and the agent, but records have them.
    for (const name of Object.values(run)) if (name !== null) this.#names.add(name);
    for (const value of Object.values(passed)) this.#names.add(value);
    const names = this.#next({ kind: 'name', role: null });
    for (const name of this.#names) this.#add(name, [], { ...names, isFixed: true }, null);
  }

  #next({ kind, role }: Pick<Place, 'kind' | 'role'>): Place {
    this.#group++;
    return { kind, role, group: this.#group, call: null, isFixed: false, isFree: false };
  }

  /** Walks over the messages, items or texts of a field. */
  #messages(field: string, value: unknown): void {
    const { embedding, conversation } = this.#request;
    if (field === 'input' && embedding?.inputs.some(({ type }) => type === 'tokens')) {
      this.unreadable.add('tokens');
      return;
    }
    const isSystem = OF_THE_SYSTEM.has(field);
    const usual = isSystem ? 'system' : embedding || conversation.isCompletion ? 'user' : null;
    if (!Array.isArray(value) || isSystem) {
      const role = this.#roles.get(keyOf([field]))?.role ?? usual;
      this.#value(value, [field], this.#next({ kind: 'text', role }));
      return;
    }
    for (const [index, message] of value.entries()) {
      this.#value(message, [field, index], this.#next({ kind: 'text', role: usual }));
    }
  }

  #value(value: unknown, at: OriginalPath, place: Place): void {
    const key = keyOf(at);
    const turn = at.length <= 4 ? this.#roles.get(key) : undefined;
    const here = turn ? { ...place, role: turn.role, call: turn.call } : place;
    const part = this.#parts.get(key);
    if (part) this.#part(part, value, at, here);
    else if (typeof value === 'string') this.#add(value, at, here, null);
    else if (typeof value === 'number') this.#number(value, at, here, null);
    else if (Array.isArray(value)) for (const [index, item] of value.entries()) this.#value(item, [...at, index], here);
    else if (isObject(value)) this.#object(value, at, here);
  }

  #object(value: Readonly<Record<string, unknown>>, at: OriginalPath, place: Place): void {
    const { type } = value;
    const isThought = !place.isFree && (type === 'thinking' || type === 'reasoning' || type === 'redacted_thinking');
    const here: Place = isThought ? { ...place, kind: 'reasoning', isFixed: true } : place;
    for (const name of Object.keys(value)) this.#member(value, name, at, here);
    if (!place.isFree && (value.file_id != null || type === 'file')) this.unreadable.add('files');
  }

  /** Walks over a member of an object, as its name says. */
  #member(owner: Readonly<Record<string, unknown>>, name: string, at: OriginalPath, place: Place): void {
    this.#names.add(name);
    const value = owner[name];
    const path = [...at, name];
    if (place.isFree) this.#value(value, path, place);
    else if (STATE.has(name) || isSealed(owner, name)) this.#state(value, path, place);
    else if (typeof value === 'string' && isFixedName(owner, name)) this.#names.add(value);
    else if (name === 'data' && owner.type === 'base64' && !this.#parts.has(keyOf(path))) this.unreadable.add('files');
    else if (!isUninspected(name, value, place)) this.#value(value, path, placeOfMember(name, value, place));
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
    if (typeof value === 'string' && isAddress(value)) this.#add(value, at, place, null);
    else if (isObject(value)) this.#object(value, at, place);
  }

  /** Walks over a string that is the JSON of a call's arguments. */
  #json(text: string, at: OriginalPath, place: Place): void {
    const parsed = parseJson(text);
    if (typeof parsed !== 'object' || parsed === null) {
      this.#add(text, at, place, null);
      return;
    }
    // Of two members with the same name, a model reads both, but only one is inspected.
    if (hasRepeatedNames(text)) this.rewrites.push({ at, value: JSON.stringify(parsed) });
    this.#inside(parsed, at, [], place);
  }

  #inside(value: unknown, at: OriginalPath, inside: OriginalPath, place: Place): void {
    if (typeof value === 'string') this.#add(value, at, place, inside);
    else if (typeof value === 'number') this.#number(value, at, place, inside);
    else if (Array.isArray(value))
      for (const [index, item] of value.entries()) this.#inside(item, at, [...inside, index], place);
    else if (isObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        this.#names.add(name);
        this.#inside(member, at, [...inside, name], place);
      }
    }
  }

  /** Notes state that only its model can read. The gateway can read the state that it wrapped itself. */
  #state(value: unknown, at: OriginalPath, place: Place): void {
    const own = typeof value === 'string' ? stateIn(value) : null;
    if (own) this.#value({ ...own }, at, { ...thought(place), isFree: false });
    else if (typeof value === 'string' && value !== '') this.unreadable.add('encrypted');
    else if (typeof value === 'object') this.#value(value, at, place);
  }

  #number(value: number, at: OriginalPath, place: Place, inside: OriginalPath | null): void {
    if (place.isFree && Math.abs(value) >= NUMBER_MIN) this.#add(String(value), at, place, inside);
  }

  #add(text: string, at: OriginalPath, place: Place, inside: OriginalPath | null): void {
    if (text === '') return;
    const { role, kind, group, call, isFixed } = place;
    this.texts.push({ text, role, kind, group, call, isFixed, at, inside });
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
  // The field `thinking` of a request is an object with settings, but in a message it is a text.
  if (THOUGHTS.has(name) && (name !== 'thinking' || !isObject(value))) return thought(place);
  if (!FREE.has(name) || typeof value !== 'object') return place;
  const isArguments = place.kind !== 'definition' && (name === 'input' || name === 'arguments');
  return { ...place, isFree: true, ...(isArguments && { kind: 'tool_arguments' }) };
}

const thought = (place: Place): Place => ({ ...place, kind: 'reasoning', isFixed: true });

/** Whether a member has encrypted data, as in `redacted_thinking` and `reasoning.encrypted`. */
const isSealed = ({ type }: Readonly<Record<string, unknown>>, name: string): boolean =>
  name === 'data' && typeof type === 'string' && /redacted|encrypted/.test(type);

const isAddress = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(text);

/**
 * Returns the edits that give texts new values.
 * @param changed the new value of each text that changes
 */
export function editsOf(request: ModelRequest, changed: ReadonlyMap<RequestText, string>): Edit[] {
  const edits: Edit[] = [];
  const inJson = new Map<string, { readonly at: OriginalPath; readonly edits: Edit[] }>();
  for (const [{ at, inside }, value] of changed) {
    if (inside === null) edits.push({ at, value });
    else inJson.getOrInsertComputed(keyOf(at), () => ({ at, edits: [] })).edits.push({ at: inside, value });
  }
  for (const { at, edits: inner } of inJson.values()) {
    const parsed = parseJson(String(valueAt(request.original.body, at)));
    if (typeof parsed === 'object' && parsed !== null)
      edits.push({ at, value: JSON.stringify(withEdits(parsed, inner)) });
  }
  return edits;
}
