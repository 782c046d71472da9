import { sigmoid } from 'signalbox/plugin';

/** A running mean moves by 1/20 at first and by 1/500 in the long run. */
const WARM_UP = 20;
const WINDOW = 500;

/** The step of a running mean after so many values. */
export const meanRate = (count: number): number => 1 / Math.min(count + WARM_UP, WINDOW);

/** The step of a running mean that starts at its first value, because no other start would be right. */
export const ownMeanRate = (count: number): number => 1 / Math.min(count + 1, WINDOW);

/** The weight of a distance from such a mean after so many values: the mean must settle first. */
export const familiarity = (count: number): number => count / (count + WARM_UP);

/** Evidence decays by half in 2,000 outcomes. */
const DECAY = 0.5 ** (1 / 2_000);
/** The evidence needed before any trust, on the scale of `spread`. */
const CAUTION = 4;

/** Evidence for a part of the estimate: `hit` is its push towards outcomes, `spread` its variance by chance. */
class TrustEvidence {
  hit = 0;
  spread = 0;

  /**
   * Adds an outcome.
   * @param by the shift of the part in log odds
   * @param from the log odds without it
   */
  note(by: number, from: number, score: number, weight: number): void {
    const expected = sigmoid(from);
    const factor = 1 - weight * (1 - DECAY);
    this.hit = factor * this.hit + weight * by * (score - expected);
    this.spread = factor * this.spread + weight * by * by * expected * (1 - expected);
  }
}

/** The evidence for the shared and the models' own words. */
export class WordEvidence {
  readonly shared = new TrustEvidence();
  readonly own = new TrustEvidence();

  /** Adds an outcome. @param plain the log odds without any words */
  note(shared: number, own: number, plain: number, score: number, weight: number): void {
    this.shared.note(shared, plain, score, weight);
    this.own.note(own, plain + shared, score, weight);
  }
}

/** The share of other tasks' evidence that counts for a task. */
const OTHERS = 0.3;

/** The trust in a part, 0..1: its success beyond `doubt` standard deviations of chance. */
export function trustOf(own: TrustEvidence | undefined, all: TrustEvidence, doubt: number): number {
  const hit = own === undefined ? OTHERS * all.hit : own.hit + OTHERS * (all.hit - own.hit);
  const spread = own === undefined ? OTHERS * all.spread : own.spread + OTHERS * (all.spread - own.spread);
  const proved = (hit - doubt * Math.sqrt(Math.max(0, spread))) / (Math.max(0, spread) + CAUTION);
  return Math.max(0, Math.min(1, proved));
}
