import type { ErrorCode } from '../errors.ts';
import type { Operation } from '../kinds/operations.ts';
import type { GuardVerdict } from './verdict.ts';

/** The facts of an answer with a status from 400 up, other than those that decision records have, too. */
export interface RefusedAnswer {
  /** The HTTP status of the answer; null for several answers. */
  readonly status: number | null;
  /** The name of the dialect of the request's route; null for routes without a dialect. */
  readonly dialect: string | null;
  readonly method: string;
  /** The pattern of the route, such as `/v1/chat/completions`; `other` for an unknown path. */
  readonly route: string;
  /** The ID of the earlier decision whose answer the request repeats; null for none. */
  readonly decision: number | null;
  /** How many answers this record counts. Above a limit a minute, the answers of a key with the same code are only counted. */
  readonly answers: number;
}

/**
 * A request that was answered with a status from 400 up and has no decision record. A refusal contains no text of the request, except the
 * name of the model.
 */
export interface Refusal extends RefusedAnswer {
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
