/** A figure or name in an alert's subject. */
type AlertDetail = string | number | boolean | null;

/** One thing that an alert is about, such as a budget in its current window. The member names of an alert's subject are in snake case. */
export type AlertSubject = Readonly<Record<string, AlertDetail>>;

/**
 * `alert`: something needs a person's attention. `recovery`: the problem of an earlier alert is over. `test`: an operator requested a test
 * message.
 */
export type AlertType = 'alert' | 'recovery' | 'test';

/** The content of a message, independent of its format. */
export interface AlertContent {
  readonly type: AlertType;
  /** The name of the alert rule; '' for a test message. */
  readonly rule: string;
  /** The kind of event that the alert rule watches; `test` for a test message. */
  readonly on: string;
  /** A sentence for each of the first subjects of the alert. */
  readonly lines: readonly string[];
  readonly subjects: readonly AlertSubject[];
  /** How many further subjects the alert has. */
  readonly more: number;
}
