import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { AlertSubject } from '../../people/alert.ts';

/** The values that distinguish the subjects of one rule, such as the name of a budget and the beginning of its window. */
export type SubjectId = readonly (string | number)[];

/** A subject that a rule reports once. */
export interface NotedSubject {
  /** Until when the rule does not report it again, ms since 1970. */
  readonly until: number;
  /** The sentence of the alert, in plain text. */
  readonly line: string;
  readonly details: AlertSubject;
}

/** The state of a problem that a rule reports when it begins and when it ends. */
export interface LastingState {
  /** Null if it is unknown. */
  readonly isDown: boolean | null;
  /** The sentence for the beginning of the problem. */
  readonly down: string;
  /** The sentence for the end of the problem. @param ms how long the problem lasted */
  readonly up: (ms: number) => string;
  readonly details: AlertSubject;
}

/** Receives what a rule finds. */
export interface AlertFindings {
  /** ms since 1970 */
  readonly now: number;
  /** Whether the rule has reported this subject, by `note`. */
  hasNoted(subject: SubjectId): boolean;
  note(subject: SubjectId, found: NotedSubject): void;
  noteLasting(subject: SubjectId, state: LastingState): void;
}

/** An event that rules of `alerts` can watch, as its module states it. */
interface StatedAlert<On extends string, Keys extends TProperties, Rule, Readings> {
  /** The word in `on`. */
  readonly on: On;
  /** The event, in a sentence for editors and the reference. */
  readonly means: string;
  /** The subjects of an alert, and how often it is sent, for the table of `docs/operate/alerts.md`. */
  readonly about: string;
  readonly often: string;
  /**
   * The keys of a rule besides `name`, `on` and `to`. Their descriptions continue “With `budget_share`: …”. Events that share a key allow the
   * same values.
   */
  readonly keys: Keys;
  /** Whether a rule collects further subjects for some minutes after a message, because more are likely to follow. */
  readonly gathers?: true;
  /** The things that the server counts only while a rule is on this event; absent for none. */
  readonly counts?: 'answers' | 'tokens' | 'stated';
  /** @param stated the keys of a rule, with their defaults */
  readonly read: (stated: Static<TObject<Keys>>) => Rule;
  /** Finds what the rule reports now. The server must have all readings that the definitions name. */
  readonly find: (rule: Rule, readings: Readings, found: AlertFindings) => void;
}

export interface AlertDefinition<On extends string, Keys extends TProperties, Rule, Readings>
  extends Omit<StatedAlert<On, Keys, Rule, Readings>, 'read'> {
  /** Reads the keys of a rule, with their defaults; null if one is wrong or missing. */
  readonly parse: (keys: unknown) => ({ readonly on: On } & Rule) | null;
}

export function defineAlert<const On extends string, Keys extends TProperties, Rule, Readings>({
  read,
  ...stated
}: StatedAlert<On, Keys, Rule, Readings>): AlertDefinition<On, Keys, Rule, Readings> {
  const schema = Type.Object(stated.keys);
  return { ...stated, parse: (keys) => (Value.Check(schema, keys) ? { on: stated.on, ...read(keys) } : null) };
}
