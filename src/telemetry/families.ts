/** What a page of metrics is made of, whoever counts it. Everything is read at the moment of asking, and nothing before. */

/** By the names that the family states. Values are from the policy or from a fixed list, never a caller's own. */
export type Labels = Readonly<Record<string, string>>;

export interface Spec {
  /** Such as `signalbox_chats_total`: counters end in `_total`, and units are Prometheus' base units or Credits. */
  readonly name: string;
  /** One sentence; it stands in the page and in docs/metrics.md. */
  readonly help: string;
  readonly labels: readonly string[];
}

export interface PlainFamily extends Spec {
  readonly type: 'counter' | 'gauge';
  samples(): Iterable<readonly [labels: Labels, value: number]>;
}

export interface HistogramFamily extends Spec {
  readonly type: 'histogram';
  /** Upper bounds of the buckets, ascending, without infinity. */
  readonly bounds: readonly number[];
  spreads(): Iterable<{
    readonly labels: Labels;
    /** How many fell into each bucket, not counting those below it; one more than there are bounds. */
    readonly counts: ArrayLike<number>;
    readonly sum: number;
  }>;
}

export type Family = PlainFamily | HistogramFamily;
