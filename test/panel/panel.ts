import { readFileSync } from 'node:fs';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parse } from 'yaml';
import { type ChatMessage, ChatRequest } from '../../src/core/api/chat-request.ts';
import { KINDS, type Kind, type KindName, WORTHS } from './kinds.ts';
import { ABILITIES, type Reputation } from './reputation.ts';

/**
 * The panel: requests as people write them, with the expectations of a person who knows the models. The requests are in `requests.yaml`,
 * `aside.yaml` and `fresh.yaml`; `README.md` explains their fields.
 */
export const PARTS = ['requests', 'aside'] as const;
/** The requests that are only measured: no figure is tuned on them, and no model is chosen on them. */
export const FRESH = 'fresh';
export type Part = (typeof PARTS)[number] | typeof FRESH;
export const ALL_PARTS: readonly Part[] = [...PARTS, FRESH];

const closed = { additionalProperties: false } as const;
const keysOf = (names: readonly string[]) => Type.Union(names.map((name) => Type.Literal(name)));

const Turn = Type.Union([
  Type.Object({ user: Type.String() }, closed),
  Type.Object({ assistant: Type.String() }, closed),
  Type.Object(
    { call: Type.Object({ name: Type.String(), args: Type.Record(Type.String(), Type.String()) }, closed) },
    closed,
  ),
  Type.Object({ result: Type.String() }, closed),
]);
type Turn = Static<typeof Turn>;

const Level = Type.Unsafe<Reputation['levels'][number]>(Type.Integer({ minimum: 1, maximum: 5 }));
const Needs = Type.Record(Type.Union(ABILITIES.map((name) => Type.Literal(name))), Level);

const Entry = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$' }),
    kind: Type.Unsafe<KindName>(keysOf(Object.keys(KINDS))),
    added: Type.Optional(Type.Literal(true)),
    language: Type.Optional(Type.String({ pattern: '^[a-z]{2}$' })),
    code: Type.Optional(Type.String()),
    task: Type.Optional(Type.String()),
    or: Type.Optional(Type.Array(Type.String())),
    needs: Type.Optional(Type.Partial(Needs, closed)),
    worth: Type.Optional(Type.Unsafe<Kind['worth']>(keysOf(Object.keys(WORTHS)))),
    visible: Type.Optional(Type.Integer({ minimum: 1 })),
    hidden: Type.Optional(Type.Integer({ minimum: 1 })),
    system: Type.Optional(Type.String()),
    turns: Type.Optional(Type.Array(Turn)),
    say: Type.Optional(Type.String()),
    images: Type.Optional(Type.Array(Type.String())),
    tools: Type.Optional(Type.Array(Type.String())),
    more: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  closed,
);
type Entry = Static<typeof Entry>;

/** A request of the panel. */
export interface Case extends Kind {
  readonly id: string;
  readonly kind: KindName;
  /** Whether the request was added after the parts were drawn, so that it is in no draw. */
  readonly added: boolean;
  /** The language that the user writes, as ISO 639-1. */
  readonly language: string;
  /** The programming language that the request is about. */
  readonly code: string | null;
  /** Other tasks that are equally correct. */
  readonly or: readonly string[];
  readonly hasSystem: boolean;
  /** The chat body without `model`. */
  readonly body: Omit<ChatRequest, 'model'>;
}

function read<Shape extends Parameters<typeof Value.Check>[0]>(name: string, shape: Shape): Static<Shape> {
  const content: unknown = parse(readFileSync(new URL(`${name}.yaml`, import.meta.url), 'utf8'));
  if (Value.Check(shape, content)) return content;
  const [first] = [...Value.Errors(shape, content)];
  throw new Error(`test/panel/${name}.yaml ${first?.path}: ${first?.message}`);
}

const passages = read('passages', Type.Record(Type.String(), Type.Array(Type.String(), { minItems: 1 })));
const tools = read(
  'tools',
  Type.Record(
    Type.String(),
    Type.Object({ does: Type.String(), parameters: Type.Record(Type.String(), Type.String()) }, closed),
  ),
);

/** Repeats the paragraphs of a passage with increasing numbers until they have this many characters. */
function passage(name: string, characters: number): string {
  const paragraphs = passages[name];
  if (!paragraphs) throw new Error(`no passage ${name}`);
  let text = '';
  for (let at = 0; text.length < characters; at++) {
    const number = 1 + Math.floor(at / paragraphs.length);
    text += `${paragraphs[at % paragraphs.length]!.replaceAll('{n}', String(number))}\n\n`;
  }
  return text.trimEnd();
}

const filled = (text: string): string =>
  text.replace(/\{\{(\w+) (\d+)\}\}/g, (_, name: string, characters: string) => passage(name, Number(characters)));

function toolOf(name: string): NonNullable<ChatRequest['tools']>[number] {
  const tool = tools[name];
  if (!tool) throw new Error(`no tool ${name}`);
  const properties = Object.fromEntries(Object.entries(tool.parameters).map(([key, type]) => [key, { type }]));
  const parameters = { type: 'object', properties, required: Object.keys(properties) };
  return { type: 'function', function: { name, description: tool.does, parameters } };
}

function messageOf(turn: Turn, at: number): ChatMessage {
  if ('user' in turn) return { role: 'user', content: filled(turn.user) };
  if ('assistant' in turn) return { role: 'assistant', content: filled(turn.assistant) };
  // A result belongs to the call before it.
  if ('result' in turn) return { role: 'tool', tool_call_id: `call_${at - 1}`, content: filled(turn.result) };
  const { name, args } = turn.call;
  const call = { id: `call_${at}`, type: 'function' as const, function: { name, arguments: JSON.stringify(args) } };
  return { role: 'assistant', content: null, tool_calls: [call] };
}

function questionOf({ say, images }: Entry): ChatMessage[] {
  if (say === undefined) return [];
  if (!images) return [{ role: 'user', content: filled(say) }];
  const parts = images.map((name) => ({
    type: 'image_url' as const,
    image_url: { url: `https://images.example/${name}` },
  }));
  return [{ role: 'user', content: [{ type: 'text', text: filled(say) }, ...parts] }];
}

function bodyOf(entry: Entry): Case['body'] {
  const { system, turns = [], tools: offered, more } = entry;
  const messages: ChatMessage[] = [
    ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
    ...turns.map(messageOf),
    ...questionOf(entry),
  ];
  const body: unknown = { model: 'auto', messages, ...(offered && { tools: offered.map(toolOf) }), ...more };
  if (!Value.Check(ChatRequest, body)) throw new Error(`${entry.id} is no chat request`);
  const { model: _, ...rest } = body;
  return rest;
}

function caseOf(entry: Entry): Case {
  const { id, kind, added = false, language = 'en', code = null, or = [], system } = entry;
  const usual: Kind = KINDS[kind];
  const { task = usual.task, needs = usual.needs, worth = usual.worth } = entry;
  const { visible = usual.visible, hidden = usual.hidden } = entry;
  const hasSystem = system !== undefined;
  return { id, kind, added, language, code, or, hasSystem, task, needs, worth, visible, hidden, body: bodyOf(entry) };
}

const Pair = Type.Composite([Entry, Type.Object({ again: Type.String() })], closed);

const pairs = new Map<'paraphrases', readonly (readonly [Case, Case])[]>();

/** Returns the pairs of requests that ask for the same in other words. */
export const paraphrases = (): readonly (readonly [Case, Case])[] =>
  pairs.getOrInsertComputed('paraphrases', (name) =>
    read(name, Type.Array(Pair)).map(({ again, ...entry }) => [caseOf(entry), caseOf({ ...entry, say: again })]),
  );

const parts = new Map<Part, readonly Case[]>();

export const panelOf = (part: Part): readonly Case[] =>
  parts.getOrInsertComputed(part, (name) => read(name, Type.Array(Entry)).map(caseOf));

/** Returns the 32-bit FNV-1a hash of the UTF-8 bytes. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value;
}

/** Assigns each request to a part: of each kind, in the order of the hash of their IDs, every second of three is set aside. */
export function partsOf(cases: readonly Pick<Case, 'id' | 'kind'>[]): ReadonlyMap<string, (typeof PARTS)[number]> {
  const byKind = Map.groupBy(cases, ({ kind }) => kind);
  const parts = new Map<string, (typeof PARTS)[number]>();
  for (const group of byKind.values()) {
    const ids = group.map(({ id }) => id).sort((a, b) => hash(a) - hash(b));
    for (const [at, id] of ids.entries()) parts.set(id, at % 3 === 1 ? 'aside' : 'requests');
  }
  return parts;
}
