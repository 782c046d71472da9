import { hash as digest, randomBytes } from 'node:crypto';
import { visible } from '../core/text/visible.ts';
import { scrubAll } from '../host/telemetry/secrets.ts';
import {
  type Actor,
  requestOf,
  type SaltedWords,
  SERVER,
  type SubjectEvent,
  THE_TRAIL,
  type TrailDetails,
  type TrailEntry,
  type TrailHead,
  type TrailLink,
  WORD_SLOTS,
  type WordSlot,
} from './trail.ts';

/** The head of an empty chain, before the first entry. */
export const GENESIS: TrailHead = Object.freeze({ id: 0, hash: '0'.repeat(64) });

/**
 * Members of an entry's details that contain text about people. These members are stored outside the hash chain, so that the text can be
 * erased.
 */
const PERSONAL: ReadonlySet<string> = new Set(['name', 'note', 'labels', 'email', 'sub']);
/** Members of an entry's details that contain the same members again: the state before and after a change. */
const SIDES: ReadonlySet<string> = new Set(['before', 'after']);

/**
 * Makes the entry that follows another entry. Texts that look like secrets are removed from the details of the entry. The actor's name and
 * place lose characters that could control the terminal of a reader or change the order of a line.
 */
export function linkAfter(head: TrailHead, event: SubjectEvent): TrailLink {
  const { time, actor, action, subject } = event;
  const { facts, words: personal } = parted({ ...event.details, ...('login' in actor && { login: actor.login }) });
  const texts: Record<WordSlot, string | null> = {
    by: actor.kind === 'server' ? null : visible(actor.name),
    from: actor.kind === 'server' || actor.from == null ? null : visible(actor.from),
    details: personal && JSON.stringify(scrubAll(personal)),
  };
  const words: Partial<Record<WordSlot, SaltedWords>> = {};
  for (const slot of WORD_SLOTS) {
    const text = texts[slot];
    if (text !== null) words[slot] = { salt: randomBytes(16).toString('hex'), text };
  }
  const sealed = (slot: WordSlot) => (words[slot] ? sealOf(words[slot]) : null);
  const seals = { by: sealed('by'), from: sealed('from'), details: sealed('details') };
  const requestId = requestOf(actor);
  const link = {
    id: head.id + 1,
    previous: head.hash,
    time,
    actor: actor.kind,
    action,
    subject,
    requestId,
    seals,
    words,
  };
  const whole = { ...link, facts: JSON.stringify(scrubAll(facts)), hash: '' };
  return { ...whole, hash: hashOf(whole) };
}

/** Makes the event that records a deletion of old entries: the event names the last deleted entry. */
export const anchorOf = ({ id, hash }: TrailHead, time: number): SubjectEvent => ({
  time,
  actor: SERVER,
  action: 'anchor',
  subject: THE_TRAIL,
  details: { through: id, hash },
});

/** Makes the event that records an erasure. @param places the erased words, by entry and slot, for example `12.by` */
export const erasureOf = (places: readonly string[], actor: Actor, time: number): SubjectEvent => ({
  time,
  actor,
  action: 'erase',
  subject: THE_TRAIL,
  details: { words: places },
});

/** Returns the salted hash of personal words, in hex. */
export const sealOf = ({ salt, text }: SaltedWords): string => digest('sha256', `${salt}${text}`);

/**
 * Returns the hash of an entry, in hex. The hash covers the previous entry's hash, all facts of the entry, and the salted hashes of its
 * words.
 */
export function hashOf({ previous, id, time, actor, action, subject, facts, requestId, seals }: TrailLink): string {
  const fields = [previous, id, time, actor, action, subject.kind, subject.id, facts, requestId];
  return digest('sha256', JSON.stringify([...fields, seals.by, seals.from, seals.details]));
}

/** Returns the slots whose words were erased. */
export const erasedIn = ({ seals, words }: TrailLink): WordSlot[] =>
  WORD_SLOTS.filter((slot) => seals[slot] !== null && !words[slot]);

/** Returns an entry in the form that readers see. */
export function entryOf(link: TrailLink): TrailEntry {
  const { id, time, actor, action, subject, facts, requestId, words } = link;
  const personal = words.details ? detailsIn(words.details.text) : {};
  return {
    id,
    time,
    action,
    subject,
    requestId,
    actor: { kind: actor, name: words.by?.text ?? null },
    from: words.from?.text ?? null,
    details: joined(detailsIn(facts), personal),
    isErased: erasedIn(link).length > 0,
  };
}

const isDetails = (value: unknown): value is TrailDetails =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses stored details. Any value that is not an object counts as empty. */
export function detailsIn(text: string): TrailDetails {
  const value: unknown = JSON.parse(text);
  return isDetails(value) ? value : {};
}

/** Separates personal words from facts. The facts have null in place of the words. */
function parted(details: TrailDetails): { facts: TrailDetails; words: TrailDetails | null } {
  const facts: Record<string, unknown> = {};
  const words: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(details)) {
    const isPersonal = PERSONAL.has(name) && value !== null;
    const side = SIDES.has(name) && isDetails(value) ? parted(value) : null;
    facts[name] = isPersonal ? null : (side?.facts ?? value);
    if (isPersonal) words[name] = value;
    else if (side?.words) words[name] = side.words;
  }
  return { facts, words: Object.keys(words).length > 0 ? words : null };
}

function joined(facts: TrailDetails, words: TrailDetails): TrailDetails {
  const sides = Object.entries(words).map(([name, value]) => {
    const before = facts[name];
    return [name, isDetails(before) && isDetails(value) ? joined(before, value) : value];
  });
  return { ...facts, ...Object.fromEntries(sides) };
}
