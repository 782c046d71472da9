import type { Caller } from '../core/caller.ts';
import type { DecisionRecord } from '../core/decision-record.ts';
import { SignalboxError } from '../core/errors.ts';
import type { FeedbackRequest } from '../core/feedback.ts';
import { idText, parseId, timeOfId } from '../core/id.ts';
import type { ScoreReceipt } from '../learning/answer.ts';
import type { RecordReader } from '../records/records.ts';
import { orOverloaded } from '../store/unwritten.ts';
import { hasSecret } from '../telemetry/secrets.ts';
import type { Gateway } from './gateway.ts';

/** A caller's score and its effect. */
interface Feedback extends ScoreReceipt {
  /** `dec_…` */
  readonly decision: string;
  /** ID of the model that answered, or was recommended. */
  readonly model: string;
  readonly task: string;
  /** 0..1 */
  readonly score: number;
}

/** The parts of the gateway that take feedback. */
export interface FeedbackGateway extends Pick<Gateway, 'lease' | 'learner' | 'now'> {
  readonly records: Pick<RecordReader, 'find'>;
}

/**
 * Takes a score of an answer from the key that asked for it.
 * @returns once the score is durable
 * @throws SignalboxError
 */
export async function giveFeedback(
  { lease, learner, records, now }: FeedbackGateway,
  { decision_id: decision, score, label: given }: FeedbackRequest,
  { keyId }: Pick<Caller, 'keyId'>,
): Promise<Feedback> {
  const label = given ?? null;
  if (label !== null && hasSecret(label)) {
    throw new SignalboxError('invalid_value', '`label` is stored, so it must not contain an API key or a token.', {
      param: 'label',
    });
  }
  const record = await ownRecord(records, decision, keyId);
  const runtime = lease();
  const { mode, feedbackWindowMs } = runtime.snapshot.learning;
  if (mode === 'off') throw new SignalboxError('learning_off', 'Learning is off, so scores are not accepted.');
  checkAnswered(record);
  checkAge(record, feedbackWindowMs, now());
  const scoring = await orOverloaded(UNWRITTEN, () => learner.score(runtime, { decision: record.id, score, label }));
  if (scoring === 'unknown') {
    const message =
      'This decision cannot be scored: learning was off when it was made, or `learning.feedback_window_days` was shorter then.';
    throw new SignalboxError('learning_off', message, { param: 'decision_id' });
  }
  if (scoring === 'contradicts') {
    const message =
      'This decision already has a different score. A decision is scored once, and the first score stays.';
    throw new SignalboxError('feedback_conflict', message, { param: 'score' });
  }
  return {
    decision: idText('dec_', record.id),
    model: modelOf(record),
    task: record.facts.task,
    score,
    ...scoring,
  };
}

const UNREAD = 'Decisions cannot be read, so the score was not stored; try again.';
const UNWRITTEN = 'The score cannot be stored; try again.';

/** @throws SignalboxError `not_found`, for another key's decision, too, and even for an admin: only the asker can score */
async function ownRecord(
  records: FeedbackGateway['records'],
  decision: string,
  keyId: string,
): Promise<DecisionRecord> {
  const id = parseId('dec_', decision);
  const record = id === null ? null : await orOverloaded(UNREAD, () => records.find(id));
  if (record?.keyId === keyId) return record;
  const message = 'This key has made no decision with this ID. A decision is written when its request ends.';
  throw new SignalboxError('not_found', message, { param: 'decision_id' });
}

/** @throws SignalboxError for an answer that broke off, which says nothing about its model */
function checkAnswered({ outcome }: DecisionRecord): void {
  if (outcome === null || outcome.status === 'completed') return;
  const { status } = outcome;
  throw new SignalboxError('nothing_to_score', 'The request of this decision got no complete answer to score.', {
    param: 'decision_id',
    details: { status },
  });
}

function checkAge({ id }: DecisionRecord, windowMs: number, now: number): void {
  if (now - timeOfId(id) <= windowMs) return;
  const days = windowMs / DAY_MS;
  throw new SignalboxError(
    'feedback_window_over',
    `A decision can be scored for ${days} days after its request. This one is older.`,
    { param: 'decision_id', details: { window_days: days } },
  );
}

const DAY_MS = 86_400_000;
const modelOf = ({ outcome, choice }: DecisionRecord): string => outcome?.attempts.at(-1)?.model ?? choice;
