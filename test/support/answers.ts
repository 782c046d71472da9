import { expect } from 'bun:test';
import type { Platform } from '../../src/core/decision/answer.ts';

/** The JSON of a gateway's answer, limited to the members that tests read. Members that the answer lacks are undefined at run time. */
export interface Answer {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: number;
    readonly finish_reason?: string;
    readonly message: { readonly content: string | null; readonly tool_calls?: readonly ToolCall[] };
    readonly delta: { readonly role?: string; readonly content?: string; readonly tool_calls?: readonly ToolCall[] };
  }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number };
  readonly platform: Platform;
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
    readonly details: Readonly<Record<string, unknown>>;
  };
}

export interface ToolCall {
  readonly index: number;
  readonly id?: string;
  readonly function: { readonly name?: string; readonly arguments: string };
}

/** A recommendation of `/v1/route`, or its error. */
export interface AdviceAnswer extends Pick<Answer, 'error'> {
  readonly recommended_model: string;
  readonly reasoning: string;
  readonly estimated_cost_credits: number;
  readonly estimated_latency_ms: number;
  readonly max_cost_credits: number;
  readonly max_output_tokens: number;
  readonly output_capped_by?: string;
  readonly first_hold_credits?: number | null;
  readonly alternatives: readonly {
    readonly model: string;
    readonly estimated_cost_credits: number;
    readonly estimated_latency_ms: number;
    readonly max_output_tokens: number;
    readonly output_capped_by?: string;
    readonly quality_trade_off: string;
  }[];
  readonly decision_id: string;
  readonly policy_revision: string;
  readonly route_reason: string;
}

export async function answerOf(response: Response): Promise<Answer> {
  return (await response.json()) as Answer;
}

export async function adviceOf(response: Response): Promise<AdviceAnswer> {
  return (await response.json()) as AdviceAnswer;
}

/** The vectors that the gateway answers with. */
export interface VectorsAnswer<Vector = readonly number[]> extends Pick<Answer, 'model' | 'platform' | 'error'> {
  readonly data: readonly { readonly index: number; readonly embedding: Vector }[];
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number };
}

export async function vectorsOf<Vector = readonly number[]>(response: Response): Promise<VectorsAnswer<Vector>> {
  return (await response.json()) as VectorsAnswer<Vector>;
}

/** Reads a stream to its end. Returns the stream's chunks, an error event if the stream broke, and whether `[DONE]` came last. */
export const eventsOf = async (response: Response) => eventsIn(await response.text());

/** Returns the text of a stream up to its end, or up to the point where its connection breaks. */
export async function untilBreak(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true });
  } catch (error) {
    expect(error).toMatchObject({ code: 'ECONNRESET' });
  }
  return text;
}

/** Does the same as `eventsOf` for the text of a stream. */
export function eventsIn(text: string): { chunks: Answer[]; done: boolean } {
  const events = text.split('\n\n').filter((event) => event.startsWith('data: '));
  const done = events.at(-1) === 'data: [DONE]';
  const chunks = (done ? events.slice(0, -1) : events).map(
    (event) => JSON.parse(event.slice('data: '.length)) as Answer,
  );
  return { chunks, done };
}

/**
 * Calls `look` every 10 ms at first, then less often, until it returns a value. Throws after `ms`. The default is long enough for a busy
 * machine; a wait that succeeds ends at once.
 */
export async function waitFor<T>(look: () => T | Promise<T>, ms = 20_000): Promise<NonNullable<T>> {
  const began = performance.now();
  for (;;) {
    const found = await look();
    if (found) return found;
    const waited = performance.now() - began;
    if (waited > ms) throw new Error('waited in vain');
    // Most callers of `waitFor` send a request in `look`, so the pause grows to keep a core from being busy.
    await Bun.sleep(Math.min(50, Math.max(10, waited / 5)));
  }
}

/**
 * Calls `came` for `ms` and throws as soon as it returns something. A test uses this function to show that an event does not happen, where
 * only time can show it.
 */
export async function quietFor(ms: number, what: string, came: () => unknown): Promise<void> {
  const until = performance.now() + ms;
  for (;;) {
    if (await came()) throw new Error(`There was ${what}.`);
    if (performance.now() > until) return;
    await Bun.sleep(Math.min(25, ms / 4));
  }
}
