import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Gate } from '../../../src/access/limits/gate.ts';
import { Limiter } from '../../../src/access/limits/limiter.ts';
import { type ErrorCode, SignalboxError } from '../../../src/core/errors.ts';
import { LinkedSet } from '../../../src/core/linked-set.ts';
import type { RequestContext } from '../../../src/gateway/request/request-context.ts';
import { atOnce } from '../../access/limits/support.ts';
import { type ContextFacts, callerNamed, contextWith } from '../../support/request-context.ts';

/** No test of this file reads a running decision. */
const recorder = {
  running: () => {
    throw new Error('not read here');
  },
};

const ONE_STREAM = { requestsPerMinute: null, tokensPerMinute: null, concurrentStreams: 1 };

/** A request at a gate with one place, and what was released at its end. */
function admitted(facts: ContextFacts = {}, gate = new Gate(() => performance.now())) {
  const ended: RequestContext[] = [];
  const caller = { ...callerNamed('k'), limits: ONE_STREAM };
  const limiter = new Limiter(() => 0);
  const count = () => atOnce(limiter.admit([], caller, '192.0.2.7'));
  const context = contextWith({ ...facts, onEnd: (one) => ended.push(one) });
  const place = gate.enter({ concurrencyMax: 1, bodiesBytesMax: 1_000, queueMax: 1, queueMs: 10_000 }, 'k', 0);
  context.admit({ caller, place, quota: count(), acceptPayer: () => null });
  /** Whether another request of the caller could be a stream. */
  const hasStream = (): boolean => {
    const other = count();
    try {
      other?.begin(true, 1);
      return true;
    } catch {
      return false;
    } finally {
      other?.close();
    }
  };
  return { context, gate, ended, hasStream };
}

describe('the error of a request in the log and metrics', () => {
  const reportOf = (code: ErrorCode, status: number, isGone: boolean) => {
    const signal = isGone ? AbortSignal.abort() : new AbortController().signal;
    const { context, ended } = admitted({ signal });
    context.handled(status, code);
    return ended.map((one) => ({ code: one.answer.code, status: one.answer.status }));
  };

  test('an error is reported as the caller gets it', () => {
    expect(reportOf('upstream_failed', 502, false)).toEqual([{ code: 'upstream_failed', status: 502 }]);
  });

  test('an error after the caller has disconnected is not reported', () => {
    expect(reportOf('upstream_failed', 502, true)).toEqual([{ code: null, status: 0 }]);
  });

  test('an error that is a defect is reported in any case', () => {
    expect(reportOf('internal_error', 500, true)).toEqual([{ code: 'internal_error', status: 500 }]);
  });

  test('an error at admission is reported although the caller has disconnected', () => {
    const context = contextWith({ signal: AbortSignal.abort() });
    context.handled(429, 'rate_limit_exceeded');
    expect([context.answer.status, context.answer.code]).toEqual([429, 'rate_limit_exceeded']);
  });

  test('a stored error that is sent again is reported with its code', () => {
    const context = contextWith({ isReplayed: true, code: 'upstream_failed' });
    context.handled(502, null);
    expect(context.answer.code).toBe('upstream_failed');
  });
});

describe('the resources of a request', () => {
  test('a request releases its place when both its handler and its work have ended', () => {
    for (const order of [
      ['handled', 'end'],
      ['end', 'handled'],
      ['handled', 'handled', 'end', 'end'],
      ['end', 'end', 'handled', 'handled'],
    ] as const) {
      const { context, gate, ended } = admitted();
      context.life.beginWork(true, 10);
      const done = new Set<string>();
      for (const step of order) {
        if (step === 'end') context.endWork(5);
        else context.handled(200, null);
        done.add(step);
        expect({ order, inside: gate.inside }).toEqual({ order, inside: done.size === 2 ? 0 : 1 });
      }
      expect(ended).toEqual([context]);
    }
  });

  test('a request that begins no work ends with its handler', () => {
    const { context, gate } = admitted();
    context.handled(200, null);
    expect(gate.inside).toBe(0);
  });

  const isOverloaded = (error: unknown) => error instanceof SignalboxError && error.code === 'overloaded';

  test('a request whose caller disconnects in the queue releases its place at once', async () => {
    const inside = admitted();
    const leaving = new AbortController();
    const { context, gate } = admitted({ signal: leaving.signal }, inside.gate);
    const turn = context.life.awaitTurn(context);
    leaving.abort();
    expect(isOverloaded(await turn?.catch((error: unknown) => error))).toBe(true);
    expect([gate.inside, gate.waiting]).toEqual([1, 0]);
    inside.context.handled(200, null);
    expect([gate.inside, gate.waiting]).toEqual([0, 0]);
  });

  test('a request whose caller disconnects after its start keeps its place until its work has ended', async () => {
    const inside = admitted();
    const leaving = new AbortController();
    const { context, gate } = admitted({ signal: leaving.signal }, inside.gate);
    const turn = context.life.awaitTurn(context);
    inside.context.handled(200, null);
    await turn;
    leaving.abort();
    expect(gate.inside).toBe(1);
    context.handled(200, null);
    expect(gate.inside).toBe(0);
  });

  test('a shutdown abandons the work of a request that it cuts off, now or as soon as the work begins', () => {
    const error = new SignalboxError('overloaded', 'over');
    for (const isFirst of [true, false]) {
      const abandoned: SignalboxError[] = [];
      const { context } = admitted();
      const work = { recorder, abandon: (reason: SignalboxError) => void abandoned.push(reason) };
      if (isFirst) context.attach(work);
      context.cutOff(error);
      if (!isFirst) context.attach(work);
      expect(abandoned).toEqual([error]);
    }
  });

  const steps = ['handled', 'endWork', 'leaveFlight', 'cutOff', 'attach'] as const;
  const orders = fc.array(fc.constantFrom(...steps), { maxLength: 12 });

  /** Returns what went wrong with a request that takes these steps. */
  function mistakes(order: readonly (typeof steps)[number][], works: boolean, leave = true): string[] {
    const { context, gate, ended, hasStream } = admitted();
    const inFlight = new LinkedSet<RequestContext>();
    let isWorking = works;
    let isHandled = false;
    if (works) context.life.beginWork(true, 50);
    context.enterFlight(inFlight);
    const found: string[] = [];
    for (const step of order) {
      if (step === 'handled') context.handled(200, null);
      if (step === 'endWork' && leave) context.endWork(3);
      if (step === 'leaveFlight') context.leaveFlight();
      if (step === 'cutOff') context.cutOff(new SignalboxError('overloaded', 'over'));
      if (step === 'attach') context.attach({ recorder, abandon() {} });
      if (step === 'endWork') isWorking = false;
      isHandled ||= step === 'handled';
      const isOver = isHandled && !isWorking;
      if (gate.inside !== (isOver ? 0 : 1)) found.push(`${step}: ${gate.inside} inside`);
      if (ended.length !== (isOver ? 1 : 0)) found.push(`${step}: ended ${ended.length} times`);
      if (hasStream() === isWorking) found.push(`${step}: a stream is ${isWorking ? 'free' : 'taken'}`);
    }
    const hasLeft = order.includes('leaveFlight') || order.includes('endWork');
    if (inFlight.size !== (hasLeft ? 0 : 1)) found.push(`${inFlight.size} in flight`);
    return found;
  }

  test('a request ends exactly once and releases everything, in whatever order its parts end', () => {
    fc.assert(fc.property(orders, fc.boolean(), (order, works) => void expect(mistakes(order, works)).toEqual([])));
  });

  test('the law about ends fails if the work of a request never ends', () => {
    const law = fc.property(orders, (order) => mistakes(order, true, false).length === 0);
    expect(fc.check(law, { endOnFailure: true }).failed).toBe(true);
  });
});
