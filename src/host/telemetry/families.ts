/** The families of a metrics page. The server reads the families when it makes the metrics page, not before. */

/** Label values by label name. Label values come from the policy or a fixed list, never from a caller. */
export type Labels = Readonly<Record<string, string>>;

/** A histogram's samples have a suffix. The samples of a histogram's buckets have the label `le` before the other labels. */
export type FamilySample = readonly [labels: Labels, value: number, suffix?: '_bucket' | '_sum' | '_count'];

export interface FamilySpec {
  /** The name, such as `signalbox_chats_total`. Names of counters end in `_total`; units are Prometheus' base units or Credits. */
  readonly name: string;
  /** One sentence that explains the metric, for the metrics page and docs/operate/metrics.md. */
  readonly help: string;
  readonly labels: readonly string[];
}

export interface Family extends FamilySpec {
  readonly type: 'counter' | 'gauge' | 'histogram';
  samples(): Iterable<FamilySample>;
}
