import { trailBody } from '../access/key-body.ts';
import { iso } from '../core/clock.ts';
import type { TrailHead, TrailLink, TrailTable } from '../store/trail.ts';
import { entryOf } from '../store/trail-chain.ts';
import { linksOf } from './trail-check.ts';

/** A line of an export: the entry as people read it, with all that its hash is made of. */
const lineOf = (link: TrailLink) => ({
  ...trailBody(entryOf(link)),
  ...{ previous: link.previous, hash: link.hash, facts: link.facts, seals: link.seals, words: link.words },
});

/** Writes the entries of a time as JSON lines, oldest first, and behind them the head of the whole trail. */
export async function* exportedTrail(
  trail: Pick<TrailTable, 'links'>,
  { from, to }: { readonly from: number; readonly to: number },
  now: number,
): AsyncGenerator<string> {
  let head: TrailHead | null = null;
  for await (const link of linksOf(trail)) {
    head = { id: link.id, hash: link.hash };
    if (link.time >= from && link.time < to) yield `${JSON.stringify(lineOf(link))}\n`;
  }
  if (head) yield headLine(head, now);
}

/** A noted head, which `headsIn` reads. @param now ms since 1970 */
export const headLine = ({ id, hash }: TrailHead, now: number): string =>
  `${JSON.stringify({ head: true, id, hash, noted_at: iso(now) })}\n`;
