import { sigmoid } from 'signalbox/plugin';

/** A running mean moves by 1/20 at first and by 1/500 in the long run. */
const FRESH = 20;
const WINDOW = 500;

/** How far a running mean moves towards the next value, after so many. */
export const pace = (seen: number): number => 1 / Math.min(seen + FRESH, WINDOW);

/** The same of a mean that begins with what is seen first, since no other beginning would be right. */
export const ownPace = (seen: number): number => 1 / Math.min(seen + 1, WINDOW);

/** How much a distance from such a mean counts, after so many: what is usual here must be known before anything is unusual. */
export const familiarity = (seen: number): number => seen / (seen + FRESH);

/** What is 2,000 outcomes old counts half. */
const DECAY = 0.5 ** (1 / 2_000);
/** What must be proved before anything is trusted, on the scale of the evidence. */
const CAUTION = 4;

/** Evidence that a part of the estimate is right: `hit` is how far it pointed where outcomes went, `spread` how far it would by chance. */
export class Evidence {
  hit = 0;
  spread = 0;

  /** A part that says `by`, of an outcome whose log odds were `from` without it and which was `score`. */
  note(by: number, from: number, score: number, weight: number): void {
    const expected = sigmoid(from);
    const kept = 1 - weight * (1 - DECAY);
    this.hit = kept * this.hit + weight * by * (score - expected);
    this.spread = kept * this.spread + weight * by * by * expected * (1 - expected);
  }
}

/** How much of what other tasks have proved counts for a task. */
const OTHERS = 0.3;

/** How far a part is trusted, 0..1: as far as it has proved itself beyond `doubt` standard deviations of chance. */
export function trustIn(own: Evidence | null, all: Evidence, doubt: number): number {
  const hit = own === null ? OTHERS * all.hit : own.hit + OTHERS * (all.hit - own.hit);
  const spread = own === null ? OTHERS * all.spread : own.spread + OTHERS * (all.spread - own.spread);
  const proved = (hit - doubt * Math.sqrt(Math.max(0, spread))) / (Math.max(0, spread) + CAUTION);
  return Math.max(0, Math.min(1, proved));
}
