import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { parseId } from '../../src/core/id.ts';
import { entriesOf } from '../gateway/money/books.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import type { Signalbox } from '../support/signalbox.ts';

export const messages = [{ role: 'user', content: 'Say hello.' }];
/** The usage that the fake upstream reports. The usage costs 0.09 Credits with `best`, at 1 and 4 thousandths of a Credit a token. */
export const USAGE = { usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 } };
export const COST = 90_000;

/** Each test uses new keys, so that tests do not affect each other. */
let keys = 0;
export const newKey = (): string => `test-${++keys}-${crypto.randomUUID()}`;

export function ask(box: Signalbox, idempotencyKey: string, body: object = {}, init: RequestInit = {}) {
  return box.post(
    '/v1/chat/completions',
    { model: 'best', messages, max_tokens: 100, ...body },
    { ...init, headers: { 'idempotency-key': idempotencyKey, ...init.headers } },
  );
}

export interface Told {
  readonly status: number;
  readonly text: string;
  readonly replayed: boolean;
  readonly headers: Headers;
}

export async function toldBy(response: Response): Promise<Told> {
  const { status, headers } = response;
  return { status, text: await response.text(), replayed: headers.get('x-signalbox-replayed') === 'true', headers };
}

/** Repeats the request until it is no longer in flight. */
export async function settled(asking: () => Promise<Response>): Promise<Response> {
  return waitFor(async () => {
    const response = await asking();
    if (response.status !== 409) return response;
    await response.body?.cancel();
    return null;
  });
}

/** The kinds and amounts of a decision's ledger rows, in order. */
export function rowsOf(data: string, decision: string): [string, number][] {
  const id = parseId('dec_', decision);
  return entriesOf(data)
    .filter(({ reservation }) => reservation === id)
    .map(({ kind, amount }) => [kind, amount]);
}

/** The charge of all rows together, after corrections. */
export function netCharge(data: string): number {
  const charges = new Set(['post', 'settle', 'expire', 'correct']);
  return entriesOf(data).reduce((sum, { kind, amount }) => sum + (charges.has(kind) ? amount : 0), 0);
}

export interface StoredRow {
  readonly state: string;
  readonly losses: number;
  readonly decision: number;
  readonly salt: Uint8Array;
  readonly answer: Uint8Array | null;
}

export function storedRows(data: string): StoredRow[] {
  const db = new Database(join(data, 'signalbox.db'), { readonly: true });
  try {
    return db.query<StoredRow, []>('SELECT state, losses, decision, salt, answer FROM idempotency ORDER BY id').all();
  } finally {
    db.close();
  }
}

export const decisionOf = (response: Pick<Response, 'headers'>): string =>
  response.headers.get('x-signalbox-decision-id') ?? '';

export { answerOf };
