import { afterAll, describe, expect, test } from 'bun:test';
import { isObject, objectOf } from '../../plugins/providers/json.ts';
import { effort, isDeep } from '../deep/effort.ts';
import { waitFor } from '../support/answers.ts';
import { startBystander } from '../support/bystander.ts';
import { leastOf } from '../support/in-time.ts';
import { PROMPT_TOKENS } from '../support/metered-service.ts';
import { CHAT_WIRE, type MeteredWire, messagesWire } from '../support/metered-wires.ts';
import { startOwnServer } from '../support/own-server.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';

/** Answers that callers abort while their hold does not grow. The services bill what they wrote until they noticed. */
const MARGIN = 20;

interface Bill {
  readonly written: number;
  billed: number | null;
}

/**
 * Starts a service that writes a part of an answer at once, reports it, and waits. When the connection closes, the service bills `MARGIN`
 * more tokens.
 */
function startStoppingService(wire: MeteredWire) {
  /** The bills by the output cap that the request sent. */
  const bills = new Map<number, Bill>();
  const encoder = new TextEncoder();
  const server = startOwnServer(async (request) => {
    const body: unknown = await request.json();
    const { model, [wire.cap]: cap } = objectOf(body);
    const bill: Bill = { written: 1 + (Number(cap) % 97), billed: null };
    bills.set(Number(cap), bill);
    const events = wire.answer(String(model));
    const usage = { prompt: PROMPT_TOKENS, output: bill.written };
    const leave = () => {
      bill.billed ??= bill.written + MARGIN;
    };
    request.signal.addEventListener('abort', leave);
    const stream = new ReadableStream({
      start(out) {
        const begin = events.begin({ ...usage, output: 0 });
        out.enqueue(encoder.encode(begin + events.piece(' tok'.repeat(bill.written), usage)));
      },
      cancel: leave,
    });
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
  });
  return { url: `${server.url}/v1`, bills, stop: server.stop };
}

const DIALECTS = [
  { name: 'chat', adapter: 'openai-compatible', path: '/v1/chat/completions', wire: CHAT_WIRE },
  { name: 'Messages', adapter: 'anthropic', path: '/v1/messages', wire: messagesWire('text') },
] as const;

describe.each(DIALECTS)('answers of $name that their callers abort', ({ adapter, path, wire }) => {
  const service = startStoppingService(wire);
  let box: Signalbox | undefined;
  afterAll(async () => {
    await box?.stop();
    await service.stop();
  });

  /**
   * Sends a request, reads the first piece and disconnects.
   * @returns the output tokens that were charged
   */
  async function charged(of: Signalbox, key: string, cap: number): Promise<number> {
    const left = new AbortController();
    const messages = [{ role: 'user', content: 'Wherefore?' }];
    const response = await of.post(
      path,
      { model: 'm', max_tokens: cap, messages, stream: true },
      { ...withKey(key), signal: left.signal },
    );
    const id = response.headers.get('x-signalbox-decision-id');
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ''; !text.includes('tok'); ) text += (await reader.read()).value ?? '';
    left.abort();
    await reader.cancel().catch(() => {});
    const outcome = await waitFor(async () => {
      const decision: unknown = await (await of.get(`/v1/decisions/${id}`, withKey(key))).json();
      const found = objectOf(decision).outcome;
      return isObject(found) ? found : null;
    });
    return (Number(outcome.credits_consumed) * 1_000 - PROMPT_TOKENS) / 4;
  }

  const { runs, proved } = effort('holes', 16, 79);

  test('an aborted answer is charged what the caller read plus the margin that the service declares', async () => {
    const policy = testPolicy({ up: { url: service.url, adapter } }, { m: { endpoints: ['up'] } }).replace(
      'passthrough: [verbosity]',
      `after_abort: { bills: stops, reports: each, margin_tokens: ${MARGIN}, margin_ms: 0 }`,
    );
    // The deep tests use a separate process, so that the waiting time of another request depends only on the server.
    const isProcess = isDeep;
    box = await startSignalbox({
      policy: `${policy}\nledger: { whole_hold_share: 1 }\n`,
      env: UPSTREAM_ENV,
      isProcess,
    });
    const of = box;
    const bystander = startBystander(`${of.url}/healthz`);
    const key = await of.makeKey('--budget', '100000/month');
    const caps = Array.from({ length: runs }, (_, at) => 500 + at);
    const worst = await leastOf(400, async () => {
      await bystander.worstMs();
      service.bills.clear();
      const all = await Promise.all(caps.map((cap) => charged(of, key, cap)));
      await waitFor(() => caps.every((cap) => service.bills.get(cap)?.billed != null));
      const tooLittle = caps.filter((cap, at) => all[at]! < service.bills.get(cap)!.billed!);
      expect(tooLittle).toEqual([]);
      return bystander.worstMs();
    });
    bystander.stop();
    expect(worst).toBeLessThan(400);
    proved(
      `${runs} aborted answers on holds that do not grow: none was charged less than its service bills; another request waited ${worst.toFixed(0)} ms`,
    );
  });
});
