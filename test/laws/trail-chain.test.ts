import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { TrailCheck } from '../../src/admin/use-cases/trail-check.ts';
import type { Actor, SubjectEvent, TrailHead, TrailLink } from '../../src/store/trail.ts';
import { anchorOf, erasedIn, erasureOf, GENESIS, hashOf, linkAfter } from '../../src/store/trail-chain.ts';
import { tries } from '../deep/effort.ts';

const word = fc.string({ maxLength: 6 });
const actor: fc.Arbitrary<Actor> = fc.oneof(
  fc.record({ kind: fc.constant('cli' as const), name: word, from: fc.option(word) }),
  fc.record({ kind: fc.constant('key' as const), name: word, requestId: word }),
  fc.constant({ kind: 'server' as const }),
);
const terms = fc.record({
  name: word,
  scopes: fc.array(word, { maxLength: 2 }),
  labels: fc.dictionary(word, word, { maxKeys: 2 }),
});
const event: fc.Arbitrary<SubjectEvent> = fc.record({
  time: fc.nat(9_999),
  actor,
  action: fc.constantFrom('create' as const, 'revoke' as const, 'grant' as const),
  subject: fc.record({ kind: fc.constantFrom('key', 'wallet', 'person'), id: word }),
  details: fc.oneof(terms, fc.record({ before: terms, after: terms }), fc.record({ credits: fc.nat(), note: word })),
});

type Step = { readonly event: SubjectEvent } | 'erase' | 'prune';
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ event }) },
    { weight: 1, arbitrary: fc.constantFrom('erase' as const, 'prune' as const) },
  ),
  { minLength: 4, maxLength: 14 },
);

/** Makes a chain of audit trail entries as a store makes it, with erasures and retention. */
function chainOf(made: readonly Step[]): TrailLink[] {
  let links: TrailLink[] = [];
  const append = (next: SubjectEvent) => links.push(linkAfter(links.at(-1) ?? GENESIS, next));
  for (const step of made) {
    const middle = links[links.length >> 1];
    if (typeof step === 'object') append(step.event);
    else if (step === 'prune' && middle && middle !== links.at(-1)) {
      append(anchorOf(middle, 0));
      links = links.filter(({ id }) => id > middle.id);
    } else if (step === 'erase' && middle?.words.by) {
      append(erasureOf([`${middle.id}.by`], { kind: 'server' }, 0));
      const { by: _, ...words } = middle.words;
      links = links.map((link) => (link === middle ? { ...link, words } : link));
    }
  }
  return links;
}

const other = (text: string) => `${text}x`;
const FORGED = '0123456789abcdef'.repeat(4);

/** Edits of a trail entry. Each edit changes something that is stored. */
const EDITS: Readonly<Record<string, (link: TrailLink) => TrailLink | null>> = {
  time: (link) => ({ ...link, time: link.time + 1 }),
  actor: (link) => ({ ...link, actor: other(link.actor) }),
  action: (link) => ({ ...link, action: other(link.action) }),
  kind: (link) => ({ ...link, subject: { ...link.subject, kind: other(link.subject.kind) } }),
  subject: (link) => ({ ...link, subject: { ...link.subject, id: other(link.subject.id) } }),
  facts: (link) => ({ ...link, facts: `${link.facts} ` }),
  request: (link) => ({ ...link, requestId: other(link.requestId ?? '') }),
  seal: (link) => ({ ...link, seals: { ...link.seals, from: FORGED } }),
  previous: (link) => ({ ...link, previous: FORGED }),
  hash: (link) => ({ ...link, hash: FORGED }),
  words: ({ words, ...link }) =>
    words.details ? { ...link, words: { ...words, details: { ...words.details, text: '{}' } } } : null,
  salt: ({ words, ...link }) => (words.by ? { ...link, words: { ...words, by: { ...words.by, salt: FORGED } } } : null),
  'words that are gone': (link) => (Object.keys(link.words).length > 0 ? { ...link, words: {} } : null),
};

/** Computes IDs and hashes again from an index on, as an attacker would who knows the code. */
const rechained = (links: readonly TrailLink[], from: number): TrailLink[] => {
  const made = links.slice(0, from);
  for (const link of links.slice(from)) {
    const before: TrailHead = made.at(-1) ?? { id: link.id - 1, hash: link.previous };
    const next = { ...link, id: before.id + 1, previous: before.hash };
    made.push({ ...next, hash: hashOf(next) });
  }
  return made;
};

interface Tampering {
  readonly kind: 'edit' | 'remove' | 'insert' | 'swap' | 'cut';
  readonly edit: string;
  readonly at: number;
  readonly isRechained: boolean;
}
const tampering: fc.Arbitrary<Tampering> = fc.record({
  kind: fc.constantFrom('edit', 'edit', 'remove', 'insert', 'swap', 'cut'),
  edit: fc.constantFrom(...Object.keys(EDITS)),
  at: fc.nat(99),
  isRechained: fc.boolean(),
});

/** @returns null if there is nothing to tamper with in this way, or if the tampering changes nothing */
function tampered(links: readonly TrailLink[], { kind, edit, at: any, isRechained }: Tampering): TrailLink[] | null {
  const at = any % links.length;
  const here = links[at]!;
  const changed = [...links];
  if (kind === 'edit') {
    const edited = EDITS[edit]!(here);
    if (!edited) return null;
    changed[at] = edited;
    // Erasable words are stored outside the chain, and hashes are computed again, so nothing is left of these edits.
    if (isRechained && ['words', 'salt', 'words that are gone', 'previous', 'hash'].includes(edit)) return changed;
  } else if (kind === 'remove') changed.splice(at, 1);
  else if (kind === 'insert') changed.splice(at, 0, { ...here, time: here.time + 1 });
  else if (kind === 'cut') return links.slice(0, at);
  else {
    const next = links[at + 1];
    if (!next) return null;
    changed.splice(at, 2, { ...next, id: here.id }, { ...here, id: next.id });
  }
  return isRechained && changed.length > 0 ? rechained(changed, at) : changed;
}

type Judge = (links: readonly TrailLink[], head: TrailHead, before: readonly TrailLink[]) => number;

const judge: Judge = (links, head) => {
  const check = new TrailCheck([head]);
  for (const link of links) check.add(link);
  return check.end().faults.length;
};

/** A complete chain has no fault. The chain and the last noted head together detect each tampering. */
const lawOf = (found: Judge) =>
  fc.property(steps, tampering, (made, how) => {
    const links = chainOf(made);
    const head = links.at(-1);
    if (!head) return true;
    if (found(links, head, links) !== 0) return false;
    const bad = tampered(links, how);
    return bad === null || Bun.deepEquals(bad, links) || found(bad, head, links) > 0;
  });

const NAME =
  'any edit, removal, insertion, swap or truncation of audit trail entries is detected, and an unchanged trail has no fault';

test(`${NAME}`, () => {
  fc.assert(lawOf(judge), tries(NAME, 400, 20_000));
});

test('an erased word and a removal by retention are no faults, and the chains of the law contain both', () => {
  const links = chainOf([
    ...Array<Step>(6).fill({ event: EVENT }),
    'erase',
    'prune',
    ...Array<Step>(4).fill({ event: EVENT }),
    'erase',
  ]);
  expect(links[0]!.id).toBeGreaterThan(1);
  expect(links.flatMap(erasedIn)).toEqual(['by']);
  expect(judge(links, links.at(-1)!, links)).toBe(0);
});

const EVENT: SubjectEvent = {
  ...{ time: 1, action: 'grant', subject: { kind: 'key', id: 'a' }, details: { credits: 1, note: 'n' } },
  actor: { kind: 'cli', name: 'alice' },
};

/** A check that reads a part of each entry as it was before the tampering. */
const blindTo =
  (part: 'facts' | 'requestId' | 'words'): Judge =>
  (links, head, before) => {
    const own = new Map(before.map((link) => [link.id, link]));
    return judge(
      links.map((link) => ({ ...link, [part]: own.get(link.id)?.[part] ?? link[part] })),
      head,
      before,
    );
  };

const MUTANTS: Readonly<Record<string, Judge>> = {
  'ignores the noted head': (links) => judge(links, GENESIS, links),
  'leaves the facts out of the hash': blindTo('facts'),
  'leaves the request out of the hash': blindTo('requestId'),
  'ignores the words': blindTo('words'),
};

for (const [name, mutant] of Object.entries(MUTANTS))
  test(`a check that ${name} misses something`, () => {
    expect(fc.check(lawOf(mutant), { numRuns: 4_000, seed: 7, endOnFailure: true }).failed).toBe(true);
  });
