/** How the requests for a model are spread over its endpoints. */
export const SPREAD_MODES = ['order', 'weighted', 'least_busy', 'fastest', 'cheapest'] as const;
export type SpreadMode = (typeof SPREAD_MODES)[number];

/** A number of 64 bits that places a request among endpoints: the hash of its conversation, or the seed of its decision. */
export interface SpreadKey {
  /** The upper 32 bits. */
  readonly high: number;
  /** The lower 32 bits. */
  readonly low: number;
}
