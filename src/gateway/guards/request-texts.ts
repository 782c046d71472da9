import type { LongNumbers } from '../../core/json/long-numbers.ts';
import { isObject, parseJson } from '../../core/json/object.ts';
import { type Edit, type OriginalPath, pathKey, valueAt, withEdits } from '../../core/json/original.ts';
import { isShared, noteDerivedBytes, SharedValues } from '../../core/json/shared-values.ts';
import { type BodySource, numbersOf, sourceOf } from '../../core/json/source.ts';
import type { Unreadable } from '../../core/policy/guards.ts';
import { placesOf, type Turn, type TurnRole } from '../../core/request/conversation.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import {
  ARGUMENT_VALUES_MAX,
  type ArgumentValues,
  hasOwnForm,
  type Place,
  type RequestText,
  TextWalk,
} from './text-walk.ts';

/** Every text of a request that can reach a provider. */
export interface RequestTexts {
  readonly texts: readonly RequestText[];
  /** The texts of each message, and of each other part of the request; none is empty. */
  readonly groups: readonly (readonly RequestText[])[];
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
/** Fields with messages, items or texts. */
const MESSAGES: ReadonlySet<string> = new Set([
  ...['messages', 'input', 'system', 'instructions', 'contents', 'systemInstruction', 'prompt', 'suffix'],
  ...['content', 'requests'],
]);
const OF_THE_SYSTEM: ReadonlySet<string> = new Set(['system', 'instructions', 'systemInstruction']);
/** Fields with the definitions of tools, whose names must not change. */
const DEFINITIONS: ReadonlySet<string> = new Set([
  ...['tools', 'tool_choice', 'mcp_servers', 'response_format', 'text', 'output_config', 'output_format'],
]);

/**
 * Returns every text of a request, in every dialect. The walk goes over the original body, because providers of the same dialect receive the
 * body itself, with members that have no neutral form. The neutral form says which text belongs to which message.
 */
export function textsOfRequest(request: ModelRequest): RequestTexts {
  const collected = new CollectedTexts(request);
  collected.body();
  return collected;
}

/** The texts of a message that several requests share, and what they follow from besides the message. */
interface KnownTexts {
  readonly field: string;
  readonly index: number;
  readonly turns: readonly Turn[];
  readonly texts: readonly RequestText[];
  readonly names: readonly string[];
  readonly unreadable: readonly Unreadable[];
  readonly rewrites: readonly Edit[];
}

const knownTexts = new SharedValues<object, KnownTexts>();
/** Estimates of memory, in bytes: of the texts of a message, and of each text without its characters. */
const MESSAGE_BYTES = 256;
const TEXT_BYTES = 256;

type PartFacts = Pick<Place, 'kind' | 'role'>;
const placeOf = ({ kind, role }: PartFacts): Place => ({
  kind,
  role,
  call: null,
  isFixed: false,
  isFree: false,
  isSetting: false,
});
const NO_TURNS: readonly Turn[] = [];

class CollectedTexts implements RequestTexts {
  readonly groups: (readonly RequestText[])[] = [];
  readonly unreadable = new Set<Unreadable>();
  readonly rewrites: Edit[] = [];
  readonly texts: RequestText[] = [];
  readonly #request: ModelRequest;
  readonly #source: BodySource | undefined;
  readonly #numbers: LongNumbers | null;
  /** The turns by the field, and by the index in the field, in which they have a location. */
  readonly #turns = new Map<string, { readonly all: Turn[]; readonly byIndex: Turn[][] }>();
  readonly #names = new Set<string>();
  readonly #values: ArgumentValues = { left: ARGUMENT_VALUES_MAX };

  constructor(request: ModelRequest) {
    this.#request = request;
    this.#source = sourceOf(request.original.body);
    this.#numbers = numbersOf(request.original.body);
    for (const turn of request.conversation.turns) {
      for (const at of placesOf(turn)) this.#placeTurn(turn, at);
      for (const part of turn.parts) if (hasOwnForm(part)) this.#placeTurn(turn, part.valueAt);
    }
  }

  #placeTurn(turn: Turn, [field, index]: OriginalPath): void {
    const { all, byIndex } = this.#turns.getOrInsertComputed(String(field), () => ({ all: [], byIndex: [] }));
    if (all.at(-1) !== turn) all.push(turn);
    if (typeof index !== 'number') return;
    byIndex[index] ??= [];
    if (byIndex[index].at(-1) !== turn) byIndex[index].push(turn);
  }

  body(): void {
    const { original, extras } = this.#request;
    const { body } = original;
    const others: RequestText[] = [];
    for (const [name, value] of Object.entries(body)) {
      if (OF_THE_GATEWAY.has(name)) continue;
      if (MESSAGES.has(name)) {
        this.#messages(name, value);
        continue;
      }
      const isDefinition = DEFINITIONS.has(name);
      const walk = new TextWalk(this.#turns.get(name)?.all ?? NO_TURNS, this.#numbers, this.#values);
      const place = placeOf({ kind: isDefinition ? 'definition' : 'other', role: null });
      const isSetting = !isDefinition && !Object.hasOwn(extras, name);
      walk.member(body, name, [], { ...place, isFree: name === 'metadata', isSetting });
      if (isDefinition) this.#add(walk);
      else {
        if (others.length === 0 && walk.texts.length > 0) this.groups.push(others);
        others.push(...walk.texts);
        this.#note(walk);
      }
    }
    this.#addNames();
  }

  #addNames(): void {
    const { run, passed } = this.#request.headers;
    // No provider receives the names of the session and the agent, but records have them.
    for (const name of Object.values(run)) if (name !== null) this.#names.add(name);
    for (const value of Object.values(passed)) this.#names.add(value);
    const walk = new TextWalk(NO_TURNS, null, this.#values);
    const place = { ...placeOf({ kind: 'name', role: null }), isFixed: true };
    for (const name of this.#names) walk.add(name, [], place, null);
    this.#add(walk);
  }

  /** Adds the texts of a part with a group of its own. */
  #add(walk: Omit<KnownTexts, 'field' | 'index' | 'turns'> | TextWalk): void {
    if (walk.texts.length > 0) this.groups.push(walk.texts);
    this.#note(walk);
  }

  #note({ texts, names, unreadable, rewrites }: Omit<KnownTexts, 'field' | 'index' | 'turns'> | TextWalk): void {
    for (const text of texts) this.texts.push(text);
    for (const name of names) this.#names.add(name);
    for (const kind of unreadable) this.unreadable.add(kind);
    for (const edit of rewrites) this.rewrites.push(edit);
  }

  /** Walks over the messages, items or texts of a field. */
  #messages(field: string, value: unknown): void {
    const { inputs, conversation } = this.#request;
    if (field === 'input' && inputs?.some(({ type }) => type === 'tokens')) {
      this.unreadable.add('tokens');
      return;
    }
    const turns = this.#turns.get(field);
    const isSystem = OF_THE_SYSTEM.has(field);
    const usual = isSystem ? 'system' : inputs || conversation.isCompletion ? 'user' : null;
    if (!Array.isArray(value) || isSystem) {
      const walk = new TextWalk(turns?.all ?? NO_TURNS, this.#numbers, this.#values);
      walk.value(value, [field], placeOf({ kind: 'text', role: walk.roleAt([field]) ?? usual }));
      this.#add(walk);
      return;
    }
    for (let index = 0; index < value.length; index++)
      this.#message(value[index], field, index, turns?.byIndex[index] ?? NO_TURNS, usual);
  }

  #message(message: unknown, field: string, index: number, turns: readonly Turn[], role: TurnRole | null): void {
    const part = isObject(message) && isShared(message) ? message : null;
    const known = part && knownTexts.get(part);
    if (known && known.field === field && known.index === index && areSame(known.turns, turns)) {
      this.#add(known);
      return;
    }
    const walk = new TextWalk(turns, this.#numbers, this.#values);
    walk.value(message, [field, index], placeOf({ kind: 'text', role }));
    this.#add(walk);
    // The text of a turn in several messages must not outlive one of them. Requests with a usual role have no turns.
    const isOwn = turns.every((turn) => placesOf(turn).every((at) => at[0] === field && at[1] === index));
    if (part && isOwn && turns.length > 0)
      this.#keep(part, { field, index, turns, ...walked(walk) }, known === undefined);
  }

  #keep(part: object, found: KnownTexts, isNew: boolean): void {
    knownTexts.set(part, found);
    const own = this.#source?.messages[found.index];
    if (!isNew || typeof own !== 'object' || own === null) return;
    let bytes = MESSAGE_BYTES;
    for (const { inside, text } of found.texts) bytes += TEXT_BYTES + (inside === null ? 0 : 2 * text.length);
    noteDerivedBytes(own, bytes);
    this.#source?.grow?.(bytes);
  }
}

const walked = ({ texts, names, unreadable, rewrites }: TextWalk) => ({
  ...{ texts, rewrites, names: [...names], unreadable: [...unreadable] },
});

const areSame = (some: readonly Turn[], others: readonly Turn[]): boolean =>
  some.length === others.length && some.every((turn, at) => turn === others[at]);

/**
 * Returns the edits that give texts new values.
 * @param changed the new value of each text that changes
 */
export function editsOf(request: ModelRequest, changed: ReadonlyMap<RequestText, string>): Edit[] {
  const edits: Edit[] = [];
  const inJson = new Map<string, { readonly at: OriginalPath; readonly edits: Edit[] }>();
  for (const [{ at, inside }, value] of changed) {
    if (inside === null) edits.push({ at, value });
    else inJson.getOrInsertComputed(pathKey(at), () => ({ at, edits: [] })).edits.push({ at: inside, value });
  }
  for (const { at, edits: inner } of inJson.values()) {
    const parsed = parseJson(String(valueAt(request.original.body, at)));
    if (typeof parsed === 'object' && parsed !== null)
      edits.push({ at, value: JSON.stringify(withEdits(parsed, inner)) });
  }
  return edits;
}
