import type { AbortBilling } from '../../src/core/money/abort-billing.ts';
import { CHAT_WIRE, type MeteredWire } from './metered-wires.ts';
import { startOwnServer } from './own-server.ts';

/** The output of a service for one request, and what it bills. */
export interface ServiceAnswer {
  /** Tokens of the complete answer; the cap of the request can cut it. */
  readonly tokens: number;
  /** Tokens that the service writes at once, every 10 ms unless stated. */
  readonly atOnce: number;
  readonly everyMs?: number;
  /** `each`: every chunk reports the usage so far, as with some services. `last`: only the last chunk reports usage. */
  readonly reports: 'each' | 'last';
  /** Hidden output tokens that the service bills with each chunk without showing them. The service thereby violates its declaration. */
  readonly hidden?: number;
  /** Tokens that the service bills after an abort, in addition to those that it wrote. */
  readonly afterAbort?: number;
}

/** The bill of the service for one answer. */
export interface ServiceBill {
  readonly model: string;
  readonly isStream: boolean;
  readonly cap: number;
  written: number;
  billed: number;
  isAborted: boolean;
  isOver: boolean;
}

export interface MeteredService {
  readonly url: string;
  readonly bills: readonly ServiceBill[];
  stop(): Promise<void>;
}

/** Tokens of each prompt. */
export const PROMPT_TOKENS = 40;
const TICK_MS = 10;
const TEXT = ' tok';

/** A service that records what it bills. The service uses OpenAI's chat dialect by default. */
export function startMeteredService(
  bills: AbortBilling['bills'],
  answerTo: (nth: number) => ServiceAnswer,
  wire: MeteredWire = CHAT_WIRE,
): MeteredService {
  const all: ServiceBill[] = [];
  const encoder = new TextEncoder();
  const server = startOwnServer(async (request) => {
    const text = await request.text().catch(() => '');
    // The client disconnected before its body arrived.
    if (text === '') return new Response(null, { status: 400 });
    const body = JSON.parse(text) as Readonly<Record<string, unknown>> & { readonly model: string };
    const answer = answerTo(all.length);
    const isStream = body.stream === true;
    const cap = Number(body[wire.cap]);
    const bill: ServiceBill = {
      model: body.model,
      isStream,
      cap,
      written: 0,
      billed: 0,
      isAborted: false,
      isOver: false,
    };
    all.push(bill);
    const total = Math.min(answer.tokens, bill.cap);
    const usage = () => ({ prompt: PROMPT_TOKENS, output: bill.billed });
    const events = wire.answer(body.model);
    const isCut = answer.tokens > bill.cap;
    const write = (tokens: number) => {
      bill.written += tokens;
      bill.billed = Math.min(bill.cap, bill.billed + tokens + (answer.hidden ?? 0));
    };
    if (!isStream) {
      write(total);
      bill.isOver = true;
      return Response.json(events.whole(TEXT.repeat(total), isCut, usage()));
    }
    let timer: ReturnType<typeof setInterval> | undefined;
    const leave = () => {
      if (bill.isOver) return;
      clearInterval(timer);
      bill.isOver = true;
      bill.isAborted = true;
      if (bills === 'whole') bill.billed = total;
      else bill.billed = Math.min(total, bill.billed + (answer.afterAbort ?? 0));
    };
    request.signal.addEventListener('abort', leave);
    const stream = new ReadableStream({
      start(out) {
        const send = (text: string) => out.enqueue(encoder.encode(text));
        send(events.begin(usage()));
        timer = setInterval(() => {
          const tokens = Math.min(answer.atOnce, total - bill.written);
          if (tokens > 0) {
            write(tokens);
            return send(events.piece(TEXT.repeat(tokens), answer.reports === 'each' ? usage() : null));
          }
          clearInterval(timer);
          bill.isOver = true;
          send(events.end(isCut, usage()));
          out.close();
        }, answer.everyMs ?? TICK_MS);
      },
      cancel: leave,
    });
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
  });
  return { url: `${server.url}/v1`, bills: all, stop: server.stop };
}
