import { iso } from '../../core/time/clock.ts';
import { inBatches } from '../../store/batches.ts';
import { isMet, type Store } from '../../store/store.ts';
import type { ErasedWords, TrailEntry, TrailHead, TrailLink, TrailQuery, TrailTable } from '../../store/trail.ts';
import { entryOf } from '../../store/trail-chain.ts';
import { type Page, pageOf } from './pages.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';
import { checkTrail, linksOf, type TrailReport } from './trail-check.ts';

/** An entry in the form of answers and exports. */
function trailBody({ id, time, actor, from, action, subject, details, requestId, isErased }: TrailEntry) {
  const keyId = subject.kind === 'key' || subject.kind === 'wallet' ? subject.id : null;
  const what = { action, subject, key_id: keyId, details, request_id: requestId };
  return { id, time: iso(time), actor, from, ...what, is_erased: isErased };
}

/** Returns a page of changes, newest first. Rejects with StoreError. */
export async function listTrail(
  by: Principal,
  trail: Pick<TrailTable, 'list'>,
  query: TrailQuery,
): Promise<Page<TrailEntry, ReturnType<typeof trailBody>>> {
  checkAction(by.caller, 'trail.read');
  const all = inBatches<TrailEntry>((last, limit) => trail.list({ ...query, ...(last && { before: last.id }), limit }));
  return await pageOf(all, query.limit, trailBody);
}

/** Checks the whole trail against heads that were noted outside the store. Rejects with StoreError. */
export async function verifyTrail(
  by: Principal,
  trail: Pick<TrailTable, 'links'>,
  known: readonly TrailHead[],
): Promise<TrailReport> {
  checkAction(by.caller, 'trail.read');
  return await checkTrail(trail, known);
}

/**
 * Erases personal data, and records the erasure in the trail.
 * @returns false if there is no such data. Rejects with StoreError.
 */
export async function eraseWords(
  by: Principal,
  store: Pick<Store, 'commit'> & { readonly trail: Pick<TrailTable, 'erase'> },
  words: ErasedWords,
  now: number,
): Promise<boolean> {
  checkAction(by.caller, 'trail.erase');
  return await isMet(store.commit([store.trail.erase(words, by.actor, now)]));
}

/** A line of an export: the entry in readable form, and everything that its hash is computed from. */
const lineOf = (link: TrailLink) => ({
  ...trailBody(entryOf(link)),
  previous: link.previous,
  hash: link.hash,
  facts: link.facts,
  seals: link.seals,
  words: link.words,
});

/** A period of time, ms since 1970. `to` is exclusive. */
interface TrailPeriod {
  readonly from: number;
  readonly to: number;
}

/** Returns the entries of a period as JSON lines, oldest first, and then the head of the whole trail. */
export function exportedTrail(
  by: Principal,
  trail: Pick<TrailTable, 'links'>,
  period: TrailPeriod,
  now: number,
): AsyncGenerator<string> {
  checkAction(by.caller, 'trail.read');
  return linesIn(trail, period, now);
}

async function* linesIn(
  trail: Pick<TrailTable, 'links'>,
  { from, to }: TrailPeriod,
  now: number,
): AsyncGenerator<string> {
  let head: TrailHead | null = null;
  for await (const link of linksOf(trail)) {
    head = { id: link.id, hash: link.hash };
    if (link.time >= from && link.time < to) yield `${JSON.stringify(lineOf(link))}\n`;
  }
  if (head) yield headLine(head, now);
}

/** Writes a head for `headsIn` to read. @param now ms since 1970 */
export const headLine = ({ id, hash }: TrailHead, now: number): string =>
  `${JSON.stringify({ head: true, id, hash, noted_at: iso(now) })}\n`;
