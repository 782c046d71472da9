import type { Dialect } from './dialect.ts';
import { ANSWER_FAULTS } from './faults-answer.ts';
import { BREAK_FAULTS } from './faults-break.ts';
import { CONNECTION_FAULTS } from './faults-connection.ts';
import { CONTENT_FAULTS } from './faults-content.ts';
import { STATUS_FAULTS } from './faults-status.ts';
import { type Deadlines, type Fault, isFinal, type Outcome, PATIENT } from './outcome.ts';
import { anthropic } from './wire-anthropic.ts';
import { gemini } from './wire-gemini.ts';
import { openai } from './wire-openai.ts';
import { responsesWire } from './wire-responses.ts';

/** All faults of upstreams and their outcomes: the source of the tests and of a table in `docs/operate/provider-faults.md`. */
export const GROUPS: readonly { readonly title: string; readonly faults: readonly Fault[] }[] = [
  { title: 'Before an answer', faults: CONNECTION_FAULTS },
  { title: 'Statuses', faults: STATUS_FAULTS },
  { title: 'Answers that break off or take too long', faults: BREAK_FAULTS },
  { title: 'Odd answers', faults: ANSWER_FAULTS },
  { title: 'Odd content', faults: CONTENT_FAULTS },
];

export const FAULTS: readonly Fault[] = GROUPS.flatMap(({ faults }) => faults);

export const FORMS = ['JSON', 'SSE'] as const;
export type Form = (typeof FORMS)[number];

/** What else could serve the request: nothing, another endpoint of the same model, or another model. */
export const SETTINGS = ['alone', 'endpoint', 'fallback'] as const;
export type Setting = (typeof SETTINGS)[number];

export const DIALECTS: readonly Dialect[] = [openai, anthropic, gemini, responsesWire];

/** @returns the outcome of a fault in this dialect, or null if it does not apply */
export function outcomeOf(fault: Fault, form: Form, { name }: Dialect): Outcome | null {
  const key = form === 'SSE' ? 'stream' : 'json';
  const own = fault.except?.[name]?.[key];
  return own === undefined ? fault[key] : own;
}

/**
 * The gateway handles a failure the same way in every dialect, so one dialect is tested with all settings. Other dialects test only their
 * adapters: with another endpoint, and alone if the caller is told to wait.
 */
export const settingsOf = (fault: Fault, { name }: Dialect): readonly Setting[] =>
  SETTINGS.filter(
    (setting) => name === 'openai' || setting === 'endpoint' || (setting === 'alone' && fault.pauseMs !== undefined),
  );

export const deadlinesOf = ({ deadlines = PATIENT }: Fault): Deadlines => deadlines;

/** True if another endpoint or model answers after this failure. A prompt that is too long is as long for the other endpoint. */
export const isTakenOver = (outcome: Outcome, setting: Setting): boolean =>
  setting !== 'alone' &&
  outcome.ends === 'failed' &&
  !isFinal(outcome) &&
  !(setting === 'endpoint' && outcome.kind === 'context');
