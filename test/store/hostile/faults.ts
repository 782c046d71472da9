/** How hostile a world is. Chances are of a call, in [0, 1]; delays are at most so long, ms. */
export interface Faults {
  /** The chance that a call is slow on its way to the store. */
  readonly slowBefore: number;
  /** The chance that its answer is slow on the way back. */
  readonly slowAfter: number;
  readonly delayMs: number;
  /** The chance that a commit is done, and its answer lost. */
  readonly lostAnswer: number;
  /** The chance that a commit is refused: nothing of it has happened. */
  readonly refused: number;
  /** The chance that news comes late, not at all, or twice. */
  readonly newsLate: number;
  readonly newsLost: number;
  readonly newsTwice: number;
  /** The chance that a number is taken by a commit that becomes visible behind later ones. */
  readonly outOfOrder: number;
}

/** Nothing goes wrong: one world with several handles. */
export const FRIENDLY: Faults = {
  slowBefore: 0,
  slowAfter: 0,
  delayMs: 0,
  lostAnswer: 0,
  refused: 0,
  newsLate: 0,
  newsLost: 0,
  newsTwice: 0,
  outOfOrder: 0,
};

/** All that a store may do without an error that its callers would see. */
export const SLOW: Faults = {
  ...FRIENDLY,
  slowBefore: 0.3,
  slowAfter: 0.3,
  delayMs: 4,
  newsLate: 0.3,
  newsLost: 0.1,
  newsTwice: 0.3,
  outOfOrder: 0.2,
};

/** Everything. */
export const HOSTILE: Faults = { ...SLOW, delayMs: 400, lostAnswer: 0.01, refused: 0.01 };
