import type { FeedbackRequest } from '../../core/decision/feedback.ts';
import { type DecisionRecord, isRunning, modelOf } from '../../core/decision/record.ts';
import { refuse, SignalboxError } from '../../core/errors.ts';
import { idText, parseId, timeOfId } from '../../core/id.ts';
import { isConversation } from '../../core/kinds/operations.ts';
import { type Caller, rootOf } from '../../core/people/caller.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { Facts } from '../../core/request/facts.ts';
import { plural } from '../../core/text/text.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import { hasSecret } from '../../host/telemetry/secrets.ts';
import { orOverloaded } from '../../store/unwritten.ts';
import type { RecordReader } from '../records/records.ts';
import type { ScoreReceipt } from '../records/scores.ts';
import type { Gateway } from './gateway.ts';

/** A caller's score of an answer and its effect. */
interface Feedback extends Pick<ScoreReceipt, 'score' | 'label'> {
  /** `dec_…` */
  readonly decision: string;
  /** The ID of the model that answered, or was recommended. */
  readonly model: string;
  readonly task: string;
  /** `learnt`: the score counts in the mean of the model. `repeated`: the same score is already stored. */
  readonly result: 'learnt' | 'repeated';
}

/** The parts of the gateway that accept feedback. */
export interface FeedbackGateway extends Pick<Gateway, 'lease' | 'scores' | 'past' | 'now' | 'conversations'> {
  readonly records: Pick<RecordReader, 'find' | 'findRevision'>;
}

/**
 * Stores a score of an answer, sent by the key that requested the answer.
 * @returns once the score is durable
 * @throws SignalboxError
 */
export async function giveFeedback(
  { lease, scores, records, past, now, conversations }: FeedbackGateway,
  { decision_id: decision, score, label: given }: FeedbackRequest,
  caller: Caller,
): Promise<Feedback> {
  const label = given ?? null;
  if (label !== null && hasSecret(label)) {
    refuse('label', '`label` is stored, so it must not contain an API key or a token.');
  }
  const record = await ownRecord(records, decision, caller.keyId);
  const { snapshot } = lease();
  checkAnswered(record);
  checkAge(record, snapshot, now());
  const model = modelOf(record);
  const { task } = record.facts;
  const declared = await declaredQuality(record, model, snapshot, { records, past });
  const row = { decision: record.id, keyId: rootOf(caller), model, task, declared, score, label };
  const signal = conversations.lowScore(record, rootOf(caller), score, snapshot);
  const also = signal ? [conversations.signalWrite(signal)] : [];
  const { isFirst, ...stored } = await orOverloaded(UNWRITTEN, () => scores.add(row, also));
  if (signal && isFirst) conversations.noteSignal(signal);
  if (stored.score !== score) {
    const message =
      'This decision already has a different score. A decision can be scored once, and its first score is kept.';
    throw new SignalboxError('feedback_conflict', message, { param: 'score' });
  }
  const result = isFirst ? 'learnt' : 'repeated';
  return { decision: idText('dec_', record.id), model, task, score, label: stored.label, result };
}

const UNREAD = 'Decisions cannot be read, so the score was not stored; try again.';
const UNWRITTEN = 'The score cannot be stored; try again.';

/**
 * @throws SignalboxError `not_found`, also for a decision of another key, even if the caller is an admin: only the key that requested an
 * answer can score it
 */
async function ownRecord(
  records: FeedbackGateway['records'],
  decision: string,
  keyId: string,
): Promise<DecisionRecord> {
  const id = parseId('dec_', decision);
  const record = id === null ? null : await orOverloaded(UNREAD, () => records.find(id));
  if (record?.keyId === keyId) return record;
  const message =
    'This key has made no decision with this ID. If another server made the decision, this server finds it once the request has ended.';
  throw new SignalboxError('not_found', message, { param: 'decision_id' });
}

/** The time after which the client may send the score of a running answer again, ms. */
const RETRY_MS = 1_000;

/** @throws SignalboxError for an answer that is still running, or that is incomplete and therefore says nothing about its model */
function checkAnswered(record: DecisionRecord): void {
  if (isRunning(record)) {
    throw new SignalboxError('in_flight', 'The answer is still running. Score it when it has ended.', {
      param: 'decision_id',
      retryAfterMs: RETRY_MS,
    });
  }
  const { outcome } = record;
  if (outcome === null || outcome.status === 'completed') return;
  const { status } = outcome;
  throw new SignalboxError('nothing_to_score', 'The request of this decision got no complete answer to score.', {
    param: 'decision_id',
    details: { status },
  });
}

/** @throws SignalboxError for a decision whose record will soon be deleted */
function checkAge({ id }: DecisionRecord, { records: { days } }: PolicySnapshot, now: number): void {
  if (now - timeOfId(id) <= days * DAY_MS) return;
  throw new SignalboxError(
    'feedback_window_over',
    `A decision can be scored for ${plural(days, 'day')} after its request. This decision is older.`,
    { param: 'decision_id', details: { window_days: days } },
  );
}

/**
 * Returns the quality that a policy declares for the request: the active policy, or the policy of the decision if the active policy does
 * not have the model.
 * @throws SignalboxError for embeddings, and for a model that neither policy declares, because their quality is unknown
 */
async function declaredQuality(
  record: DecisionRecord,
  model: string,
  active: PolicySnapshot,
  { records, past }: Pick<FeedbackGateway, 'records' | 'past'>,
): Promise<number> {
  const { facts } = record;
  if (isConversation(facts.operation)) {
    const declared = declaredBy(active, facts, model);
    if (declared !== null) return declared;
    const revision = await orOverloaded(UNREAD, () => records.findRevision(record.revision));
    const found = revision && (await past.find(revision));
    const earlier = typeof found === 'object' && found ? declaredBy(found.snapshot, facts, model) : null;
    if (earlier !== null) return earlier;
  }
  const message =
    'This decision cannot be scored. It is not for a conversation, or its policy does not declare its model, so its quality is unknown.';
  throw new SignalboxError('learning_off', message, { param: 'decision_id' });
}

/** @returns null for a model that the policy does not declare */
function declaredBy({ modelIndex, models, taskIndex }: PolicySnapshot, { task }: Facts, model: string): number | null {
  const at = modelIndex.get(model);
  return at === undefined ? null : models[at]!.quality[taskIndex.get(task) ?? 0]!;
}
