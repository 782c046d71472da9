/** The families of a metrics page. They are read when the page is made, not before. */

/** By the label names of the family. Values come from the policy or a fixed list, never from a caller. */
export type Labels = Readonly<Record<string, string>>;

export interface FamilySpec {
  /** Such as `signalbox_chats_total`. Counters end in `_total`; units are Prometheus' base units or Credits. */
  readonly name: string;
  /** One sentence, for the page and docs/operate/metrics.md. */
  readonly help: string;
  readonly labels: readonly string[];
}

export interface PlainFamily extends FamilySpec {
  readonly type: 'counter' | 'gauge';
  samples(): Iterable<readonly [labels: Labels, value: number]>;
}

export interface HistogramFamily extends FamilySpec {
  readonly type: 'histogram';
  /** Upper bounds of the buckets, ascending, without infinity. */
  readonly bounds: readonly number[];
  spreads(): Iterable<{
    readonly labels: Labels;
    /** The number in each bucket alone, one more than there are bounds. */
    readonly counts: ArrayLike<number>;
    readonly sum: number;
  }>;
}

export type Family = PlainFamily | HistogramFamily;
