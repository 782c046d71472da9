/**
 * A chance for each eligible model whose quality is near the best: `(1 − share)·softmax(U/temperature) + share/n`. Versions that
 * learned from outcomes drew models by it; now it only decides their decisions again.
 */
export interface ExplorePolicy {
  /** Of requests whose model is drawn alike among all that take part, 0 to 1. */
  readonly share: number;
  /** The difference of utility that makes a model e times likelier. */
  readonly temperature: number;
  /** How far below the best quality a model may be and take part, 0 to 1. */
  readonly qualityMargin: number;
}

/** How a choice was drawn. */
export interface ExplorationDraw {
  /** Of the model that was chosen, above 0, at most 1. */
  readonly probability: number;
  /** How many models took part. */
  readonly among: number;
}
