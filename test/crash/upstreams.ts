import {
  type Behaviour,
  type FakeUpstream,
  type RecordedRequest,
  startFakeUpstream,
} from '../support/fake-upstream.ts';
import { UPSTREAM_KEY } from '../support/policies.ts';

/** Microcredits a token, by the policy of these tests. */
const INPUT_PRICE = 1_000;
const OUTPUT_PRICE = 4_000;

/** Two providers of one model that keep books of their own: what they were asked for, by the request's number. */
export interface Upstreams {
  readonly urls: { readonly first: string; readonly second: string };
  /** Calls that arrived. */
  readonly calls: number;
  /** What they want for a request, all its attempts together, in microcredits; 0 for one that never arrived. */
  billed(request: number): number;
  /** Pause between two chunks from now on, ms; twice as long before the first. */
  pace(betweenChunksMs: number): void;
  stop(): Promise<void>;
}

/** The text that carries a request's number; a stumbling one fails at the first provider, at a known cost. */
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

/** Says what it used, and breaks off before any content. */
function stumble(request: number): Billed {
  const usage = { prompt_tokens: 4 + (request % 3), completion_tokens: 2 };
  const chunk = { id: 'chatcmpl-stumble', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage };
  const raw = [`data: ${JSON.stringify(chunk)}\n\n`];
  return { behaviour: { raw, contentType: 'text/event-stream' }, cost: costOf(usage) };
}

const costOf = (usage: { prompt_tokens: number; completion_tokens: number }): number =>
  usage.prompt_tokens * INPUT_PRICE + usage.completion_tokens * OUTPUT_PRICE;
