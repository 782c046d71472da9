/**
 * The probabilities with which earlier versions drew a model at random: `(1 − share)·softmax(U/temperature) + share/n` over the eligible
 * models whose quality is near the best. Only replays of decisions of those versions use `explore`.
 */
export interface ExplorePolicy {
  /** Share of requests for which all participating models are equally likely, 0 to 1. */
  readonly share: number;
  /** The difference in utility that makes a model e times as likely. */
  readonly temperature: number;
  /** How far below the best quality a participating model may be, 0 to 1. */
  readonly qualityMargin: number;
}

/** The random draw of a choice. */
export interface ExplorationDraw {
  /** Probability of the chosen model, above 0, at most 1. */
  readonly probability: number;
  /** Number of models that took part in the draw. */
  readonly among: number;
}
