/** The families of a metrics page. They are read when the page is made, not before. */

/** Label values by label name. Values come from the policy or a fixed list, never from a caller. */
export type Labels = Readonly<Record<string, string>>;

/** A histogram's samples have a suffix. The samples of its buckets have the label `le` before the other labels. */
export type FamilySample = readonly [labels: Labels, value: number, suffix?: '_bucket' | '_sum' | '_count'];

export interface FamilySpec {
  /** The name, such as `signalbox_chats_total`. Counters end in `_total`; units are Prometheus' base units or Credits. */
  readonly name: string;
  /** One sentence, for the page and docs/operate/metrics.md. */
  readonly help: string;
  readonly labels: readonly string[];
}

export interface Family extends FamilySpec {
  readonly type: 'counter' | 'gauge' | 'histogram';
  samples(): Iterable<FamilySample>;
}
