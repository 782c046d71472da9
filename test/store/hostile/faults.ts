/** How hostile a world is. Probabilities are per call, in [0, 1]. Delays are upper bounds in ms. */
export interface Faults {
  /** Probability that a call is slow on its way to the store. */
  readonly slowBefore: number;
  /** Probability that an answer is slow on its way back. */
  readonly slowAfter: number;
  readonly delayMs: number;
  /** Probability that a commit is carried out but its answer is lost. */
  readonly lostAnswer: number;
  /** Probability that a commit is refused, so that nothing of it happens. */
  readonly refused: number;
  /** Probability that news arrives late, never or twice. */
  readonly newsLate: number;
  readonly newsLost: number;
  readonly newsTwice: number;
  /** Probability that a commit takes a number but becomes visible after commits with greater numbers. */
  readonly outOfOrder: number;
}

/** Nothing goes wrong. These faults suit a world with several handles. */
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

/** Everything that a store may do without an error that its callers would see. */
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

/** All faults. */
export const HOSTILE: Faults = { ...SLOW, delayMs: 400, lostAnswer: 0.01, refused: 0.01 };
