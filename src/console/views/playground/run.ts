import { useEffect, useRef, useState } from 'preact/hooks';
import { open, read } from '../../api/client.ts';
import { type ApiFailure, failureOf } from '../../api/failure.ts';
import { membersOf } from '../../api/json.ts';
import type { ReadOf } from '../../api/reads.ts';
import type { Dialect, RequestBody } from './body.ts';
import { type AnswerParts, EventCutter, joined, NO_PARTS, partsOfAnswer, partsOfEvent } from './wire.ts';

type DecisionDetail = ReadOf<`/admin/decisions/${string}`>;
export type DecisionMoney = ReadOf<'/admin/decisions/dec_/money'>;

/** An amount as the server states it. `usd` is null if the worth of a Credit is unknown. */
export interface Amount {
  readonly credits: number;
  readonly usd: string | null;
}

/** A request that was sent, and everything known about its answer. */
export interface Run {
  readonly state: 'waiting' | 'writing' | 'done' | 'stopped' | 'failed';
  readonly dialect: Dialect;
  readonly isStreamed: boolean;
  /** The hold that the decision expected before the request was sent, and its worst case in Credits; null if the decision had none. */
  readonly hold: { readonly first: Amount | null; readonly most: number | null };
  readonly parts: AnswerParts;
  readonly failure: ApiFailure | null;
  readonly decisionId: string | null;
  /** The decision record with the receipt, once the record is written. */
  readonly record: DecisionDetail | null;
  /** The ledger's entries: hold, tranches, charges and release. */
  readonly money: DecisionMoney | null;
  /** The times of the first content and the end, measured in this page, ms. */
  readonly firstMs: number | null;
  readonly endMs: number | null;
}

export interface RunRequest {
  readonly key: string;
  readonly dialect: Dialect;
  readonly body: RequestBody;
  readonly hold: Run['hold'];
}

/** How often to request the decision record, because it is written after the answer ends. */
const LOOKS_MAX = 8;
const LOOK_MS = 250;

/** The last request that was sent. A new request, or leaving the page, aborts the last request. */
export function useRun() {
  const [run, setRun] = useState<Run | null>(null);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);
  const start = (request: RunRequest) => {
    control.current?.abort();
    const own = new AbortController();
    control.current = own;
    void carryOut(request, own.signal, (next) => {
      if (control.current === own) setRun(next);
    });
  };
  const stop = () => control.current?.abort();
  return { run, start, stop };
}

async function carryOut(request: RunRequest, signal: AbortSignal, show: (run: Run) => void): Promise<void> {
  const { dialect, body, key, hold } = request;
  const sentAt = performance.now();
  let run: Run = {
    state: 'waiting',
    dialect,
    isStreamed: body.stream === true,
    hold,
    parts: NO_PARTS,
    failure: null,
    decisionId: null,
    record: null,
    money: null,
    firstMs: null,
    endMs: null,
  };
  const put = (part: Partial<Run>) => {
    run = { ...run, ...part };
    show(run);
  };
  const take = (next: AnswerParts) => {
    const parts = joined(run.parts, next);
    const hasContent = parts.choices.size > 0;
    const first = run.firstMs === null && hasContent ? performance.now() - sentAt : run.firstMs;
    put({ parts, firstMs: first, state: hasContent ? 'writing' : run.state });
  };
  put({});
  try {
    const result = await open('/admin/playground', { key, dialect, body }, signal);
    if (!result.ok) return put({ state: 'failed', failure: result.failure, endMs: performance.now() - sentAt });
    const { headers } = result.value;
    put({ decisionId: headers.get('x-signalbox-decision-id') });
    if (headers.get('content-type')?.startsWith('text/event-stream')) await readEvents(result.value, dialect, take);
    else take(partsOfAnswer(dialect, membersOf(await result.value.json()) ?? {}));
    const failure = failureIn(run.parts);
    put({ state: failure ? 'failed' : 'done', failure, endMs: performance.now() - sentAt });
  } catch {
    const endMs = performance.now() - sentAt;
    if (signal.aborted) put({ state: 'stopped', endMs });
    else {
      // After the error event of a failed chat, the connection breaks.
      const failure =
        failureIn(run.parts) ?? failureOf('unreachable', 'The answer is incomplete: the connection ended.');
      put({ state: 'failed', endMs, failure });
    }
  }
  const record = await recordOf(run.decisionId);
  if (!record) return;
  put({ record });
  const money = await read(`/admin/decisions/${record.id}/money`);
  if (money.ok) put({ money: money.value });
}

const failureIn = ({ error }: AnswerParts): ApiFailure | null => (error === null ? null : failureOf('broken', error));

async function readEvents(response: Response, dialect: Dialect, take: (parts: AnswerParts) => void): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  const cutter = new EventCutter();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    // The page renders only once for all events that arrived together.
    const events = cutter.push(value);
    if (events.length > 0) take(events.map((data) => partsOfEvent(dialect, data)).reduce(joined, NO_PARTS));
  }
}

async function recordOf(id: string | null): Promise<DecisionDetail | null> {
  if (id === null) return null;
  for (let look = 0; look < LOOKS_MAX; look++) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const result = await read(`/admin/decisions/${id}`);
    if (!result.ok && result.failure.status !== 404) return null;
    // The server may not have noticed yet that the client stopped the request.
    if (result.ok && result.value.status !== 'running') return result.value;
  }
  return null;
}
