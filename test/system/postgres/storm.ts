import { type Answer, answerOf, eventsOf } from '../../support/answers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import type { ToldPrice } from './verdict.ts';

/** How a caller's request ended. */
export interface Ending {
  /** The status of the answer; null if the connection broke. */
  readonly status: number | null;
  readonly told: ToldPrice | null;
  /** Whether a stream ended without its last event. */
  readonly isCut: boolean;
}

export interface StormRequest {
  readonly maxTokens: number;
  readonly isStream: boolean;
}

const BROKEN: Ending = { status: null, told: null, isCut: false };

/** Sends a request with a key that has its own budget. Never rejects, because the test may kill the server during the request. */
export async function send(
  box: Pick<Signalbox, 'url'>,
  key: string,
  { maxTokens, isStream }: StormRequest,
): Promise<Ending> {
  try {
    const response = await fetch(`${box.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'best',
        messages: [{ role: 'user', content: 'Say hello.' }],
        max_tokens: maxTokens,
        ...(isStream && { stream: true }),
      }),
    });
    const { status } = response;
    if (status !== 200 || !isStream) return { status, told: toldIn(await answerOf(response)), isCut: false };
    const { chunks, done } = await eventsOf(response);
    return { status, told: chunks.map(toldIn).find((told) => told !== null) ?? null, isCut: !done };
  } catch {
    return BROKEN;
  }
}

/** An answer whose charge could not be stored reports no price. */
function toldIn({ platform }: Answer): ToldPrice | null {
  if (typeof platform?.credits_consumed !== 'number') return null;
  return { decision: platform.decision_id, micro: Math.round(platform.credits_consumed * 1e6) };
}
