import {
  type Behaviour,
  type FakeUpstream,
  type RecordedRequest,
  startFakeUpstream,
} from '../support/fake-upstream.ts';
import { UPSTREAM_KEY } from '../support/policies.ts';

/** The price in the policy of these tests, microcredits per token. */
const INPUT_PRICE = 1_000;
const OUTPUT_PRICE = 4_000;

/** Two providers of the same model record what they bill, by the number of the request. */
export interface Upstreams {
  readonly urls: { readonly first: string; readonly second: string };
  /** The number of calls that arrived. */
  readonly calls: number;
  /** The amount that the providers bill for all attempts of a request, microcredits; 0 if the request never arrived. */
  billed(request: number): number;
  /** Sets the pause between two chunks, ms. The pause before the first chunk is twice as long. */
  pace(betweenChunksMs: number): void;
  stop(): Promise<void>;
}

/**
 * A prompt that contains the number of its request.
 * @param stumbles true to make the first provider fail, at a known cost
 */
export const promptOf = (request: number, stumbles: boolean): string =>
  `This is request ${request}${stumbles ? ', which stumbles' : ''}.`;

export function startUpstreams(): Upstreams {
  const bills = new Map<number, number>();
  let calls = 0;
  let betweenChunksMs = 2;
  const serve = (mayStumble: boolean) => (asked: RecordedRequest) => {
    const [, number] = /This is request (\d+)/.exec(asked.text) ?? [];
    const request = Number(number);
    const behaviour = mayStumble && asked.text.includes('stumbles') ? stumble(request) : answer(request);
    calls++;
    bills.set(request, (bills.get(request) ?? 0) + behaviour.cost);
    const pace = { firstChunkAfterMs: 2 * betweenChunksMs, betweenChunksMs };
    return { headersAfterMs: 3 + (request % 4), ...pace, ...behaviour.behaviour };
  };
  const first = startFakeUpstream({ key: UPSTREAM_KEY, behaviour: serve(true) });
  const second = startFakeUpstream({ key: UPSTREAM_KEY, behaviour: serve(false) });
  const both: readonly FakeUpstream[] = [first, second];
  return {
    urls: { first: first.url, second: second.url },
    get calls() {
      return calls;
    },
    billed: (request) => bills.get(request) ?? 0,
    pace: (ms) => {
      betweenChunksMs = ms;
    },
    async stop() {
      await Promise.all(both.map((upstream) => upstream.stop()));
    },
  };
}

interface Billed {
  readonly behaviour: Behaviour;
  readonly cost: number;
}

function answer(request: number): Billed {
  const text = Array.from({ length: 3 + (request % 5) }, (_, at) => `word${at} `);
  const usage = { prompt_tokens: 5 + (request % 7), completion_tokens: text.length };
  return { behaviour: { text, usage }, cost: costOf(usage) };
}

/** The provider reports its usage, and breaks off before any content. */
function stumble(request: number): Billed {
  const usage = { prompt_tokens: 4 + (request % 3), completion_tokens: 2 };
  const chunk = { id: 'chatcmpl-stumble', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage };
  const raw = [`data: ${JSON.stringify(chunk)}\n\n`];
  return { behaviour: { raw, contentType: 'text/event-stream' }, cost: costOf(usage) };
}

const costOf = (usage: { prompt_tokens: number; completion_tokens: number }): number =>
  usage.prompt_tokens * INPUT_PRICE + usage.completion_tokens * OUTPUT_PRICE;
