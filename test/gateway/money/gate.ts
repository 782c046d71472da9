import { chunksOf, type OpenAiRequest, replyOf } from '../../support/openai-wire.ts';
import { startOwnServer } from '../../support/own-server.ts';

/** An upstream that holds every answer until it is told to give it. */
export interface Gate {
  readonly url: string;
  /** Requests that have come and are not answered. */
  readonly inside: number;
  /** The most that were inside at once. */
  readonly most: number;
  /** Requests that have come, in their order. */
  readonly requests: readonly OpenAiRequest[];
  /** The `authorization` of each of them. */
  readonly secrets: readonly (string | null)[];
  /** Of those inside, how many carried each `user`; the most at once. */
  readonly mostByUser: ReadonlyMap<string, number>;
  /** Answers the `n` oldest of those inside. */
  release(n?: number): void;
  /** From now on nobody is held. */
  open(): void;
  /** From now on everybody is held again. */
  close(): void;
  stop(): Promise<void>;
}

/** How it answers; a test may replace it while nobody is inside. */
export interface GateAnswers {
  /** What an answer says was used. */
  usageOf: (request: OpenAiRequest) => Readonly<Record<string, unknown>>;
  /** Whether it is a 500 in place of an answer. */
  fails?: (request: OpenAiRequest) => boolean;
  /** The pieces of its text; `Hi` unless stated. */
  text?: readonly string[];
  /** Waited for before each event of a stream. */
  pace?: () => Promise<void>;
}

/** The cap on a request's output, as the gateway sent it. */
export const capOf = (request: OpenAiRequest): number => Number(request.max_completion_tokens ?? request.max_tokens);

/** Starts it on 127.0.0.1. */
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
    // A fake of a test's own making: what comes is what the gateway sends.
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
