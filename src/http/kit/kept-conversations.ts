import { isUtf8 } from 'node:buffer';
import { isKeyId } from '../../access/key.ts';
import type { Keys } from '../../access/keys.ts';
import { ListMemory, remember } from '../../core/json/list-memory.ts';
import { isObject, listOf } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import { derivedBytesOf, share } from '../../core/json/shared-values.ts';
import { type BodySource, setSource } from '../../core/json/source.ts';
import type { Timer, Timers } from '../../core/time/timers.ts';
import type { News } from '../../store/news.ts';
import {
  type BodyMap,
  type KnownParts,
  LIST_NAMES,
  PROPOSED_BY,
  type ScannedBody,
  scanBody,
  type ValueSpan,
} from './body-scan.ts';

/** Shorter bodies are parsed faster than they are compared, in bytes. */
export const KEPT_BYTES_MIN = 4_096;
/** A shorter member is parsed faster than it is compared, in bytes. */
const MEMBER_BYTES_MIN = 256;
/** How many senders and how many first turns are remembered. Each takes about 200 bytes. */
const REMEMBERED_MAX = 16_384;
/** Conversations are dropped after this time without a turn, at most `SWEEP_MS` later: 10 minutes together. */
const IDLE_MS = 590_000;
const SWEEP_MS = 10_000;
/** Estimates of memory: bytes per parsed value without its text, and bytes of everything that is derived from a message. */
const VALUE_BYTES = 64;
const MESSAGE_BYTES = 1_280;
/** The same for what is derived from all messages together, such as the progress of the agent. */
const CONVERSATION_BYTES = 32_768;

/** The parsed values of a kept body, deeply frozen, because requests share them. */
interface KeptValues {
  readonly messages: readonly unknown[];
  readonly isClean: readonly boolean[];
  readonly members: ReadonlyMap<string, KeptMember>;
  /** The noted memory of what was derived from the messages and members, in bytes. */
  readonly derivedBytes: number;
  /** The values that were derived from the list of messages. All turns of a conversation share it. */
  readonly memory: ListMemory;
}

interface KeptMember {
  readonly value: unknown;
  readonly isClean: boolean;
}

/** The last body of a running conversation. */
interface KeptBody {
  readonly keyId: string;
  readonly map: BodyMap;
  readonly values: KeptValues;
  /** The estimated memory, in bytes. It grows with what is derived from the body. */
  bytes: number;
  /** When the last turn arrived, ms. */
  readonly at: number;
}

/** How a body is read. */
export interface KeptReading {
  readonly keyId: string;
  /** `KeptConversations.generation` when the request was admitted. */
  readonly generation: number;
  /** The most memory of all kept conversations, in bytes; 0 for none. */
  readonly bytesMax: number;
  /** The most values of a body. */
  readonly valuesMax: number;
}

/**
 * The last bodies of running conversations. A turn of a conversation repeats the bytes of the turns before it, so messages and members with
 * the same bytes are not parsed again. The result always equals the result of parsing the whole body. Each key has its own conversations.
 * They are only in the memory of this process. Most large bodies have no second turn, so a key's bodies are read as text until one of them has tools
 * or an answer, and a first turn leaves only the hash of its beginning. State: kept conversations.
 */
export class KeptConversations {
  readonly #clock: () => number;
  readonly #timers: Timers;
  /** By key and hash, the least recently used first. */
  readonly #bodies = new Map<string, KeptBody>();
  /** The keys that send conversations, the oldest first. */
  readonly #senders = new Set<string>();
  /** The keys of first turns, by key and hash, the oldest first. */
  readonly #firstTurns = new Map<string, string>();
  /** The name of the last body of each key. Conversations of an application share their tools. */
  readonly #latest = new Map<string, string>();
  #bytes = 0;
  #generation = 0;
  #sweep: Timer | null = null;

  /** @param clock ms, never decreases */
  constructor(clock: () => number, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** The estimated memory of all kept conversations, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of kept conversations. */
  get size(): number {
    return this.#bodies.size;
  }

  /**
   * Grows with each change of keys or people. A request that was admitted before such a change leaves nothing in memory, because its key may
   * be revoked.
   */
  get generation(): number {
    return this.#generation;
  }

  /** Whether bodies of a key are read as bytes, because it sends conversations. */
  expects(keyId: string): boolean {
    return this.#senders.has(keyId);
  }

  /** Notes what a body that was read as text shows about its key. @param generation as in `KeptReading` */
  note(keyId: string, generation: number, body: unknown): void {
    if (generation !== this.#generation || !isOfConversation(body)) return;
    this.#senders.add(keyId);
    dropOldest(this.#senders);
  }

  /**
   * Reads a body; null for a body that must be read whole, because it is no valid JSON object, exceeds a limit, has unusual names, or is the
   * first turn of a conversation while none of its key is kept.
   */
  read(bytes: Buffer, reading: KeptReading): Members | null {
    const { keyId, generation, valuesMax } = reading;
    if (generation !== this.#generation) return null;
    const found = new FoundParts(keyId, this.#latestOf(keyId), this.#bodies, this.#firstTurns);
    const scanned = scanBody(bytes, valuesMax, found);
    const value = scanned && parse(scanned, found);
    if (found.isAlone) this.#noteFirst(found.name!, keyId);
    if (!value) return null;
    if (found.name !== null) this.#keep(found.name, scanned, value, found, reading);
    return value;
  }

  /** Drops all conversations, because requests need the memory. */
  clear(): void {
    this.#bodies.clear();
    this.#senders.clear();
    this.#firstTurns.clear();
    this.#latest.clear();
    this.#bytes = 0;
    this.#rest();
  }

  /** Drops the conversations of keys that no longer work, and bodies of requests that were admitted before. @param works given a key's ID */
  dropEnded(works: (keyId: string) => boolean): void {
    this.#generation++;
    for (const [name, { keyId }] of this.#bodies) if (!works(keyId)) this.#drop(name);
    for (const keyId of this.#senders) if (!works(keyId)) this.#senders.delete(keyId);
    for (const [name, keyId] of this.#firstTurns) if (!works(keyId)) this.#firstTurns.delete(name);
    this.#rest();
  }

  #noteFirst(name: string, keyId: string): void {
    this.#firstTurns.set(name, keyId);
    dropOldest(this.#firstTurns);
  }

  #latestOf(keyId: string): KeptBody | undefined {
    const name = this.#latest.get(keyId);
    return name === undefined ? undefined : this.#bodies.get(name);
  }

  #keep(name: string, scanned: ScannedBody, value: Members, found: FoundParts, reading: KeptReading): void {
    const { keyId, bytesMax } = reading;
    if (found.body === undefined && !this.#firstTurns.delete(name)) {
      this.#noteFirst(name, keyId);
      return;
    }
    this.#drop(name);
    const values = keptValues(scanned, value, found);
    if (values === null) return;
    const { map } = scanned;
    const grow = (bytes: number) => this.#grow(name, bytes, bytesMax);
    setSource(value, { ...sourceFrom(map, values), grow });
    const bytes = estimate(map, values);
    if (bytes <= bytesMax) {
      this.#bodies.set(name, { keyId, map, values, bytes, at: this.#clock() });
      this.#latest.set(keyId, name);
      this.#bytes += bytes;
      this.#sweep ??= this.#begin();
    }
    this.#fit(bytesMax);
  }

  /** Counts memory that a request has added to the parts of its body. The conversation may have ended or gone on since. */
  #grow(name: string, bytes: number, bytesMax: number): void {
    const body = this.#bodies.get(name);
    if (body === undefined) return;
    body.bytes += bytes;
    this.#bytes += bytes;
    if (body.bytes > bytesMax) this.#drop(name);
    this.#fit(bytesMax);
  }

  /** Drops the least recently used conversations until the others fit into the bound. */
  #fit(bytesMax: number): void {
    for (const oldest of this.#bodies.keys()) {
      if (this.#bytes <= bytesMax) break;
      this.#drop(oldest);
    }
    this.#rest();
  }

  #begin(): Timer {
    const timer = this.#timers.every(SWEEP_MS, () => this.#dropIdle());
    timer.unref();
    return timer;
  }

  #dropIdle(): void {
    const now = this.#clock();
    for (const [name, { at }] of this.#bodies) {
      if (now - at < IDLE_MS) break;
      this.#drop(name);
    }
    this.#rest();
  }

  #drop(name: string): void {
    const body = this.#bodies.get(name);
    if (body === undefined) return;
    this.#bytes -= body.bytes;
    this.#bodies.delete(name);
    if (this.#latest.get(body.keyId) === name) this.#latest.delete(body.keyId);
  }

  #rest(): void {
    if (this.#bodies.size > 0) return;
    this.#sweep?.close();
    this.#sweep = null;
  }
}

/** Whether a body has the messages of a conversation: more than instructions and a question, or tools. */
const isOfConversation = (body: unknown): boolean =>
  isObject(body) &&
  LIST_NAMES.values().some((name) => {
    const messages = listOf(body[name]);
    return messages.length > PROPOSED_BY || (messages.length > 0 && listOf(body.tools).length > 0);
  });

function dropOldest(names: Set<string> | Map<string, string>): void {
  for (const oldest of names.keys()) {
    if (names.size <= REMEMBERED_MAX) return;
    names.delete(oldest);
  }
}

/** The changes that end conversations, and this server's copy of the keys. */
interface ConversationSources {
  readonly news: Pick<News, 'on'>;
  readonly keys: Pick<Keys, 'readChanges' | 'callerOf'>;
}

/**
 * Opens the running conversations of a server. A change of keys drops the conversations of keys that no longer work, and of callers without
 * a key of their own. A change of people, and an erasure in the audit trail, drop all conversations.
 */
export function openConversations(
  { news, keys }: ConversationSources,
  clock: () => number,
  timers: Timers,
): KeptConversations {
  const conversations = new KeptConversations(clock, timers);
  news.on('keys', async () => {
    // The copy may not contain the change yet, and then the key would seem to work.
    await keys.readChanges();
    conversations.dropEnded((keyId) => isKeyId(keyId) && keys.callerOf(keyId) !== null);
  });
  news.on('people', () => conversations.dropEnded(() => false));
  return conversations;
}

/** The parts of earlier bodies that a body repeats. */
class FoundParts implements KnownParts {
  /** The key and the hash of the beginning of the conversation; null if it is too short. */
  name: string | null = null;
  /** Whether no body of the key is kept, and the conversation begins. */
  isAlone = false;
  /** The earlier body of the conversation; undefined for none. */
  body: KeptBody | undefined;
  /** The values of known members, by name. */
  readonly members = new Map<string, KeptMember>();
  readonly #latest: KeptBody | undefined;
  readonly #keyId: string;
  readonly #bodies: ReadonlyMap<string, KeptBody>;
  readonly #firstTurns: ReadonlyMap<string, string>;

  constructor(
    keyId: string,
    latest: KeptBody | undefined,
    bodies: ReadonlyMap<string, KeptBody>,
    firstTurns: ReadonlyMap<string, string>,
  ) {
    this.#keyId = keyId;
    this.#latest = latest;
    this.#bodies = bodies;
    this.#firstTurns = firstTurns;
  }

  member(name: string, bytes: Buffer, at: number): ValueSpan | null {
    return this.#memberIn(this.body, name, bytes, at) ?? this.#memberIn(this.#latest, name, bytes, at);
  }

  conversation(bytes: Buffer, from: number, to: number): BodyMap | 'alone' | null {
    this.name = `${this.#keyId} ${Bun.hash.rapidhash(bytes.subarray(from, to))}`;
    this.body = this.#bodies.get(this.name);
    this.isAlone = this.#latest === undefined && this.body === undefined && !this.#firstTurns.has(this.name);
    return this.isAlone ? 'alone' : (this.body?.map ?? null);
  }

  #memberIn(body: KeptBody | undefined, name: string, bytes: Buffer, at: number): ValueSpan | null {
    const span = body?.map.members.get(name);
    const member = body?.values.members.get(name);
    if (!body || !span || !member) return null;
    const to = at + span.to - span.from;
    if (to > bytes.length || body.map.bytes.compare(bytes, at, to, span.from, span.to) !== 0) return null;
    this.members.set(name, member);
    return { ...span, from: at, to };
  }
}

/**
 * Parses a body of which some parts are known. An empty object stands for each known part in the parsed text, so that exactly the bodies are
 * valid that are valid with the parts: after `{}`, the parser is in the same state as after the part.
 * @returns null if the body is no valid JSON or no valid UTF-8
 */
function parse({ map, known, earlier, runs }: ScannedBody, found: FoundParts): Members | null {
  const text = new RemainingText(map.bytes);
  for (const [name, { from, to }] of map.members) {
    if (known.has(name)) text.skip(from, to);
    else if (name === map.list) {
      for (let at = 0; at < runs.length; at += 2) text.skip(map.starts[runs[at]!]!, map.ends[runs[at + 1]! - 1]!);
    }
  }
  const value = text.parse();
  if (value === null) return null;
  for (const name of known) value[name] = found.members.get(name)!.value;
  const added = map.list === null ? null : value[map.list];
  const before = found.body?.values.messages;
  if (map.list === null || !Array.isArray(added) || earlier === null || !before) return value;
  // Nearly always, the first run has nearly all messages.
  const begun = runs[0] === 0;
  const messages = begun ? before.slice(0, runs[1]) : [];
  let read = begun ? 1 : 0;
  for (let run = begun ? 2 : 0; messages.length < map.size; ) {
    const from = runs[run];
    if (from !== messages.length) messages.push(added[read++]);
    else {
      const to = runs[run + 1]!;
      for (let at = from; at < to; at++) messages.push(before[at]);
      run += 2;
      read++;
    }
  }
  value[map.list] = messages;
  return value;
}

/** The text of a body without its known parts. */
class RemainingText {
  readonly #bytes: Buffer;
  #text = '';
  #at = 0;
  #isValid = true;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  skip(from: number, to: number): void {
    this.#add(from);
    this.#text += '{}';
    this.#at = to;
  }

  parse(): Record<string, unknown> | null {
    this.#add(this.#bytes.length);
    if (!this.#isValid) return null;
    try {
      const value: unknown = JSON.parse(this.#text);
      return isObject(value) ? value : null;
    } catch {
      return null;
    }
  }

  #add(to: number): void {
    this.#isValid &&= isUtf8(this.#bytes.subarray(this.#at, to));
    if (this.#isValid) this.#text += this.#bytes.toString('utf8', this.#at, to);
  }
}

/** Freezes what is new in a body, and returns the values that later bodies may share; null if the scan has not found each message. */
function keptValues({ map, known, runs }: ScannedBody, value: Members, found: FoundParts): KeptValues | null {
  const list = map.list === null ? null : value[map.list];
  if (!Array.isArray(list) || list.length !== map.size) return null;
  const earlier = found.body?.values ?? null;
  const before = earlier?.isClean ?? [];
  const isClean = runs[0] === 0 ? before.slice(0, runs[1]) : [];
  let derivedBytes = 0;
  for (let at = 0; at < isClean.length; at++) derivedBytes += derivedBytesOf(list[at]);
  let run = isClean.length === 0 ? 0 : 2;
  for (let at = isClean.length; at < list.length; at++) {
    if (at === runs[run + 1]) run += 2;
    const isKnown = run < runs.length && at >= runs[run]!;
    if (isKnown) derivedBytes += derivedBytesOf(list[at]);
    isClean.push(isKnown ? before[at]! : share(list[at]) === map.colons[at]);
  }
  const memory = earlier?.memory ?? new ListMemory();
  remember(list, memory);
  const members = new Map<string, KeptMember>();
  for (const [name, { from, to, colons }] of map.members) {
    if (name === map.list || to - from < MEMBER_BYTES_MIN) continue;
    const member = value[name];
    const sameMember = known.has(name) ? found.members.get(name) : undefined;
    if (sameMember) derivedBytes += derivedBytesOf(member);
    members.set(name, sameMember ?? { value: member, isClean: share(member) === colons });
  }
  // The request may change its own list.
  return { messages: list.slice(), isClean, members, derivedBytes, memory };
}

function sourceFrom(map: BodyMap, { messages, isClean, members }: KeptValues): BodySource {
  const clean = new Map<string, { value: unknown; from: number; to: number }>();
  for (const [name, member] of members) {
    const { from, to } = map.members.get(name)!;
    if (member.isClean) clean.set(name, { value: member.value, from, to });
  }
  const { bytes, list, starts, ends } = map;
  return { bytes, list: list!, messages, starts, ends, isClean, members: clean };
}

/**
 * Estimates the memory of a kept body: its bytes, their text, the text that is sent, the parsed objects, and what is derived from them. The
 * verdicts of guards are not in the estimate for a message, because their size depends on the policy.
 */
const estimate = ({ bytes, size, total }: BodyMap, { derivedBytes }: KeptValues): number =>
  4 * bytes.length + (size + 1 + 2 * total) * VALUE_BYTES + size * MESSAGE_BYTES + CONVERSATION_BYTES + derivedBytes;
