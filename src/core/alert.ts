/** A figure or name of a subject. */
type AlertDetail = string | number | boolean | null;

/** One thing that an alert is about, such as a budget in its window, with names in snake case. */
export type AlertSubject = Readonly<Record<string, AlertDetail>>;

/** `alert`: something needs a person. `recovery`: it is over. `test`: somebody has asked for a message. */
export type AlertType = 'alert' | 'recovery' | 'test';

/** The content of a message, for every form. */
export interface AlertContent {
  readonly type: AlertType;
  /** The name of the rule; '' for a test. */
  readonly rule: string;
  /** What the rule watches; `test` for a test. */
  readonly on: string;
  /** A sentence for each subject, at most as many as `subjects`. */
  readonly lines: readonly string[];
  readonly subjects: readonly AlertSubject[];
  /** How many subjects there are beyond those. */
  readonly more: number;
}
