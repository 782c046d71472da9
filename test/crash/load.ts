import { parseId } from '../../src/core/id.ts';
import type { Answer } from '../support/answers.ts';
import { promptOf } from './upstreams.ts';

/** What a client knows of a request that it sent. */
export interface Sent {
  readonly request: number;
  /** The `agent_wallet` of the request, which the ledger stores with the entries; null without one. */
  readonly wallet: string | null;
  readonly stream: boolean;
  /** Null until headers have arrived. */
  status: number | null;
  /** The ID of the hold; null until it is known. */
  reservation: number | null;
  /** The cost that the answer reported, microcredits; null until the answer is complete. */
  told: number | null;
  /** True if content of a stream arrived. */
  shown: boolean;
  retryAfter: string | null;
}

export interface Load {
  readonly sent: readonly Sent[];
  /** Resolves once every client has stopped. */
  readonly done: Promise<void>;
  /** Lets the clients finish their current requests and stop. */
  stop(): void;
}

export interface LoadOptions {
  readonly url: string;
  /** The load has a client for each key. */
  readonly keys: readonly string[];
  /** Returns the number of the next request. Every fourth request fails over. */
  readonly next: () => number;
  /** The maximum number of requests of each client. */
  readonly requests?: number;
}

/** Of this many requests, a single request fails over. */
const STUMBLES = 4;
/** The pause of a client that was refused, ms. */
const REFUSED_MS = 5;

/** Starts clients that send requests, JSON and SSE mixed, until they are stopped or the server is gone. */
export function startLoad({ url, keys, next, requests = Number.POSITIVE_INFINITY }: LoadOptions): Load {
  const sent: Sent[] = [];
  let stopped = false;
  const client = async (key: string) => {
    for (let i = 0; i < requests && !stopped; i++) {
      const one = newSent(next());
      sent.push(one);
      try {
        await send(url, key, one);
      } catch {
        // The process has died. Only what arrived before counts.
        return;
      }
      if (one.status !== 200) await Bun.sleep(REFUSED_MS);
    }
  };
  return {
    sent,
    done: Promise.all(keys.map(client)).then(() => {}),
    stop() {
      stopped = true;
    },
  };
}

export function newSent(request: number): Sent {
  const wallet = request % 2 === 0 ? `0x${request.toString(16).padStart(40, '0')}` : null;
  const stream = request % 3 !== 0;
  return { request, wallet, stream, status: null, reservation: null, told: null, shown: false, retryAfter: null };
}

/** Sends one request. Rejects when the connection breaks. */
export async function send(url: string, key: string, one: Sent): Promise<void> {
  const { request, wallet, stream } = one;
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'auto',
      max_tokens: 60,
      stream,
      messages: [{ role: 'user', content: promptOf(request, request % STUMBLES === 0) }],
      ...(wallet && { agent_wallet: wallet }),
    }),
  });
  one.status = response.status;
  one.retryAfter = response.headers.get('retry-after');
  const decision = response.headers.get('x-signalbox-decision-id');
  one.reservation = decision === null ? null : parseId('dec_', decision);
  if (stream && response.ok && response.body) return readStream(response.body, one);
  const answer = (await response.json()) as Partial<Answer>;
  // An error after the hold reports its price in a header.
  const credits = answer.platform?.credits_consumed ?? response.headers.get('x-signalbox-credits');
  if (credits !== null && one.reservation !== null) one.told = microcredits(Number(credits));
}

async function readStream(body: ReadableStream<Uint8Array>, one: Sent): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const events = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) take(event, one);
  }
}

function take(event: string, one: Sent): void {
  if (!event.startsWith('data: {')) return;
  const chunk = JSON.parse(event.slice('data: '.length)) as Partial<Answer>;
  if (chunk.choices?.some(({ delta }) => delta?.content)) one.shown = true;
  // Null if the charge could not be written.
  const credits = chunk.platform?.credits_consumed ?? null;
  if (credits !== null) one.told = microcredits(credits);
}

const microcredits = (credits: number): number => Math.round(credits * 1_000_000);
