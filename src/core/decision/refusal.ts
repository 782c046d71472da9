import { Type } from '@sinclair/typebox';
import * as f from '../define/fields.ts';
import type { ErrorCode } from '../errors.ts';
import type { Operation } from '../kinds/operations.ts';
import type { GuardVerdict } from './verdict.ts';

/** The answer to a request that was refused before a decision. Each member is stated once, as in `attempt.ts`. */
export const REFUSED_ANSWER = {
  // Null for several answers.
  http_status: f.stored(0, f.as('status', f.wholeOrNull('The HTTP status of the answer.', 404))),
  dialect: f.stored(1, f.textOrNull('The dialect of the path; null for paths that no dialect has.', 'openai-chat')),
  method: f.stored(2, f.text('The HTTP method.', 'POST')),
  route: f.stored(
    3,
    f.text('The path, with placeholders for IDs; `other` for a path that does not exist.', '/v1/chat/completions'),
  ),
  answers: f.stored(
    5,
    f.count(
      'How many answers this entry counts: 1, or the answers of one key with the same code in a minute, above the limit for single entries.',
      1,
    ),
  ),
  decision_id: f.stored(
    4,
    f.as(
      'decision',
      f.orNull(
        f.id('dec_', Type.String()),
        'The earlier decision whose answer the request asks for again; null for none.',
        null,
      ),
    ),
  ),
};
export interface RefusedAnswer extends f.ObjectValue<typeof REFUSED_ANSWER> {}
export const RecordedRefusedAnswer = f.viewRow<RefusedAnswer>()(REFUSED_ANSWER);

/**
 * A request that was answered with a status from 400 up and has no decision record. A refusal contains no text of the request, except the
 * name of the model.
 */
export interface RefusalRecord extends RefusedAnswer {
  /** The number of the request (`req_…`); for several requests, of the first one. */
  readonly id: number;
  /** When the request ended, ms since 1970. */
  readonly time: number;
  /** ID of the key; '' for requests whose key is unknown. */
  readonly keyId: string;
  readonly team: string | null;
  readonly user: string | null;
  /** The labels of the key. */
  readonly labels: Readonly<Record<string, string>>;
  readonly session: string | null;
  /** The operation of the route; null for routes that call no model. */
  readonly operation: Operation | null;
  /** The model that the request named, printable and redacted; '' for none. */
  readonly model: string;
  readonly code: ErrorCode | null;
  /** The message of the error, redacted. */
  readonly reason: string;
  /** The verdicts of guards; of the first request, if the record counts several. Absent if they found nothing. */
  readonly guards?: readonly GuardVerdict[];
  /** The names of the guards that apply to the request; absent for none. */
  readonly guardedBy?: readonly string[];
}
