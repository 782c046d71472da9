import { setImmediate } from 'node:timers/promises';
import { type LinksLimit, type TrailHead, type TrailLink, type TrailTable, WORD_SLOTS } from '../../store/trail.ts';
import { detailsIn, erasedIn, GENESIS, hashOf, sealOf } from '../../store/trail-chain.ts';

/** An entry at which the trail differs from what was written. */
export interface TrailFault {
  readonly id: number;
  readonly problem: string;
}

export interface TrailReport {
  readonly entries: number;
  /** The head is null for an empty trail. */
  readonly first: number | null;
  readonly head: TrailHead | null;
  /** Entries whose personal data was erased. An entry of the trail records each erasure. */
  readonly erased: number;
  /** Heads noted outside the store that match an entry. */
  readonly confirmed: number;
  /** The number of faults that are not listed. */
  readonly more: number;
  readonly faults: readonly TrailFault[];
}

const FAULTS_MAX = 50;

/**
 * Checks a hash chain against heads that were noted outside the store. Entries must be added in the order of their IDs. Each check needs a
 * new instance.
 */
export class TrailCheck {
  readonly #known = new Map<number, Set<string>>();
  readonly #faults: TrailFault[] = [];
  readonly #isWhole: boolean;
  #more = 0;
  #first: TrailLink | null = null;
  #last: TrailLink | null = null;
  #entries = 0;
  #confirmed = 0;
  /** The last entry that retention has deleted, according to the last anchor. */
  #anchor: TrailHead | null = null;
  /** Places of missing personal data, with their entries, until an erasure names them. */
  readonly #gone = new Map<string, number>();
  readonly #erased = new Set<number>();

  /** @param isWhole whether the first added entry is the first entry of the trail */
  constructor(known: readonly TrailHead[] = [], isWhole = true) {
    this.#isWhole = isWhole;
    for (const { id, hash } of known) this.#known.set(id, (this.#known.get(id) ?? new Set()).add(hash));
  }

  add(link: TrailLink): void {
    const { id, previous, hash } = link;
    const last = this.#last;
    if (last && id > last.id + 1)
      this.#fault(id, `the entries ${last.id + 1} to ${id - 1} before this entry are missing`);
    else if (last && id <= last.id) this.#fault(id, 'the entry is out of order');
    else if (last && previous !== last.hash) this.#fault(id, 'the entry does not follow the entry before it');
    if (hashOf(link) !== hash) this.#fault(id, 'it was changed');
    this.#checkWords(link);
    const known = this.#known.get(id);
    if (known?.has(hash)) this.#confirmed++;
    if (known && (known.size > 1 || !known.has(hash))) this.#fault(id, 'another hash was noted for this entry');
    this.#first ??= link;
    this.#last = link;
    this.#entries++;
  }

  end(): TrailReport {
    if (this.#first && this.#isWhole) this.#checkStart(this.#first);
    const end = this.#last?.id ?? 0;
    const noted = Math.max(end, ...this.#known.keys());
    if (noted > end)
      this.#fault(end, `the trail ends here, but entry ${noted} was noted, so the end of the trail was cut`);
    for (const [place, id] of this.#gone)
      this.#fault(id, `personal data of this entry was removed without an erasure (${place})`);
    const head = this.#last && { id: this.#last.id, hash: this.#last.hash };
    return {
      entries: this.#entries,
      first: this.#first?.id ?? null,
      head,
      erased: this.#erased.size,
      confirmed: this.#confirmed,
      more: this.#more,
      faults: this.#faults,
    };
  }

  #checkWords(link: TrailLink): void {
    const { id, words, seals, action, facts } = link;
    for (const slot of WORD_SLOTS) {
      const own = words[slot];
      if (own && sealOf(own) !== seals[slot]) this.#fault(id, `personal data of this entry was changed (${slot})`);
    }
    for (const slot of erasedIn(link)) this.#gone.set(`${id}.${slot}`, id);
    if (action === 'erase') for (const place of placesIn(facts)) this.#erase(place);
    if (action === 'anchor') this.#anchor = throughIn(facts) ?? this.#anchor;
  }

  #erase(place: string): void {
    const id = this.#gone.get(place);
    if (id === undefined) return;
    this.#gone.delete(place);
    this.#erased.add(id);
  }

  /** The first entry must be the beginning of the trail, or follow the entry that the last anchor names. */
  #checkStart({ id, previous }: TrailLink): void {
    const before = this.#anchor ?? GENESIS;
    if (before.id !== id - 1) {
      const why = this.#anchor
        ? `retention deleted only entries up to ${before.id}`
        : 'no anchor says that retention deleted them';
      this.#fault(id, `the entries before this entry are missing, and ${why}`);
    } else if (before.hash !== previous) this.#fault(id, 'the entry does not follow the entry that was before it');
  }

  #fault(id: number, problem: string): void {
    if (this.#faults.length < FAULTS_MAX) this.#faults.push({ id, problem });
    else this.#more++;
  }
}

function placesIn(facts: string): string[] {
  const { words } = detailsIn(facts);
  return Array.isArray(words) ? words.map(String) : [];
}

function throughIn(facts: string): TrailHead | null {
  const { through, hash } = detailsIn(facts);
  return typeof through === 'number' && typeof hash === 'string' ? { id: through, hash } : null;
}

/** The size of a page. A reader of the trail keeps one page in memory. */
const PAGE: LinksLimit = { rows: 500, chars: 262_144 };

/** Returns every entry after an ID, oldest first. The server can serve requests between two pages. Rejects with StoreError. */
export async function* linksOf(
  { links }: Pick<TrailTable, 'links'>,
  after = Number.MIN_SAFE_INTEGER,
): AsyncGenerator<TrailLink> {
  for (let from = after; ; ) {
    const page = await links(from, PAGE);
    yield* page;
    const last = page.at(-1);
    if (!last) return;
    from = last.id;
    await setImmediate();
  }
}

/** Checks the whole trail of a store. Rejects with StoreError. */
export async function checkTrail(trail: Pick<TrailTable, 'links'>, known: readonly TrailHead[]): Promise<TrailReport> {
  const check = new TrailCheck(known);
  for await (const link of linksOf(trail)) check.add(link);
  return check.end();
}

const HASH = /^[0-9a-f]{64}$/;

/** Reads noted heads from lines of JSON with an `id` and a `hash`, as in an export, a log and `trail.head`. Ignores other lines. */
export function headsIn(text: string): TrailHead[] {
  return text.split('\n').flatMap((line) => {
    const value = line.startsWith('{') ? parsed(line) : null;
    if (typeof value !== 'object' || value === null || !('id' in value && 'hash' in value)) return [];
    const { id, hash } = value;
    return typeof id === 'number' && typeof hash === 'string' && HASH.test(hash) ? [{ id, hash }] : [];
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
