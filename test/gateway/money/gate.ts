import { chunksOf, type OpenAiRequest, replyOf } from '../../support/openai-wire.ts';
import { startOwnServer } from '../../support/own-server.ts';

/** An upstream that holds back every answer until the test releases it. */
export interface Gate {
  readonly url: string;
  /** The number of requests that have arrived and are not answered. */
  readonly inside: number;
  /** The most requests that were waiting at once. */
  readonly most: number;
  /** The requests that have arrived, in their order. */
  readonly requests: readonly OpenAiRequest[];
  /** The header `authorization` of each request. */
  readonly secrets: readonly (string | null)[];
  /** The most requests that were waiting at once, for each `user`. */
  readonly mostByUser: ReadonlyMap<string, number>;
  /** Answers the `n` oldest waiting requests. */
  release(n?: number): void;
  /** From now on, requests are answered at once. */
  open(): void;
  /** From now on, requests are held back again. */
  close(): void;
  stop(): Promise<void>;
}

/** How the upstream answers. A test may replace the answers while no request is waiting. */
export interface GateAnswers {
  /** Returns the usage that an answer reports. */
  usageOf: (request: OpenAiRequest) => Readonly<Record<string, unknown>>;
  /** Whether the upstream answers with a 500 error. */
  fails?: (request: OpenAiRequest) => boolean;
  /** The pieces of the answer's text; `Hi` if absent. */
  text?: readonly string[];
  /** The upstream waits for this before each event of a stream. */
  pace?: () => Promise<void>;
}

/** The output limit of a request, as the gateway sent it. */
export const capOf = (request: OpenAiRequest): number => Number(request.max_completion_tokens ?? request.max_tokens);

/** Starts the upstream on 127.0.0.1. */
export function startGate(answers: GateAnswers): Gate {
  const waiting: (() => void)[] = [];
  const requests: OpenAiRequest[] = [];
  const secrets: (string | null)[] = [];
  const byUser = new Map<string, number>();
  const mostByUser = new Map<string, number>();
  let inside = 0;
  let most = 0;
  let isOpen = false;
  const enter = (user: string) => {
    most = Math.max(most, ++inside);
    byUser.set(user, (byUser.get(user) ?? 0) + 1);
    mostByUser.set(user, Math.max(mostByUser.get(user) ?? 0, byUser.get(user)!));
  };
  const leave = (user: string) => {
    inside--;
    byUser.set(user, byUser.get(user)! - 1);
  };
  const server = startOwnServer(async (request) => {
    // The cast is safe, because only the gateway sends requests to this fake upstream.
    const body = (await request.json()) as OpenAiRequest;
    const user = String(body.user ?? '');
    requests.push(body);
    secrets.push(request.headers.get('authorization'));
    enter(user);
    if (!isOpen) await new Promise<void>((resolve) => void waiting.push(resolve));
    leave(user);
    if (answers.fails?.(body)) return new Response('{}', { status: 500 });
    const usage = answers.usageOf(body);
    if (body.stream !== true) return Response.json(replyOf(body, { text: 'Hi', usage }));
    const { text = 'Hi', pace } = answers;
    const events = chunksOf(body, { text, usage }).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
    events.push('data: [DONE]\n\n');
    const paced = async function* () {
      for (const event of events) {
        await pace?.();
        yield event;
      }
    };
    return new Response(pace ? paced() : events.join(''), { headers: { 'content-type': 'text/event-stream' } });
  });
  const release = (n = 1) => {
    for (const answer of waiting.splice(0, n)) answer();
  };
  return {
    url: `${server.url}/v1`,
    get inside() {
      return inside;
    },
    get most() {
      return most;
    },
    requests,
    secrets,
    mostByUser,
    release,
    open() {
      isOpen = true;
      release(waiting.length);
    },
    close() {
      isOpen = false;
      most = 0;
      mostByUser.clear();
      requests.length = secrets.length = 0;
    },
    stop: server.stop,
  };
}
