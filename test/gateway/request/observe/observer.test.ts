import { describe, expect, test } from 'bun:test';
import { Observer, type RequestReporter } from '../../../../src/gateway/request/observe/observer.ts';
import type { Trace } from '../../../../src/host/telemetry/trace.ts';
import { type ContextFacts, callerNamed } from '../../../support/request-context.ts';

const MINUTE_MS = 60_000;

/** An observer that samples every trace, and the traces that it reported. */
function watched() {
  let now = 0;
  const ended: Trace[] = [];
  const trace = (): Trace => ({
    traceId: 'a',
    spanId: 'b',
    isSampled: true,
    step() {},
    call: () => ({ headers: {}, end() {} }),
    end() {
      ended.push(this);
    },
  });
  const log = { info() {}, warn() {}, error() {} };
  const written = async () => {};
  const observer = new Observer({
    trace,
    reporters: [],
    workReporters: [],
    log,
    clock: () => now,
    nextId: () => 1,
    written,
  });
  return {
    ended,
    wait: (ms: number) => {
      now += ms;
    },
    end({ keyId = null, status, code = null }: ContextFacts & { readonly status: number }, count: number): void {
      for (let at = 0; at < count; at++) {
        const context = observer.open(new Request('http://localhost/v1/models'), '/v1/models', undefined, true);
        if (keyId !== null) context.client.caller = callerNamed(keyId);
        context.handled(status, code);
      }
    },
  };
}

describe('the traces of unknown callers', () => {
  test('only some traces a minute of unknown callers are reported, so that they do not displace others', () => {
    const { end, wait, ended } = watched();
    const stranger = { status: 401, code: 'invalid_api_key' } as const;
    end(stranger, 500);
    expect(ended).toHaveLength(60);
    end({ status: 200, keyId: 'k' }, 100);
    end({ status: 429, keyId: 'k' }, 100);
    end({ status: 500 }, 100);
    expect(ended).toHaveLength(360);
    end(stranger, 1);
    expect(ended).toHaveLength(360);
    wait(MINUTE_MS);
    end(stranger, 500);
    expect(ended).toHaveLength(420);
  });
});

/** An observer with these reporters, and the errors that it has logged. */
function observerOf(
  reporters: readonly RequestReporter[],
  clock: () => number = () => 7,
): { readonly observer: Observer; readonly errors: string[] } {
  const errors: string[] = [];
  const log = { info() {}, warn() {}, error: (message: string) => void errors.push(message) };
  const written = async () => {};
  const observer = new Observer({ trace: null, reporters, workReporters: [], log, clock, nextId: () => 1, written });
  return { observer, errors };
}

const open = (observer: Observer) => observer.open(new Request('http://localhost/'), 'other', undefined, false);

/** Waits, because reports are made after the turn of the event loop in which requests end. */
const turn = () => new Promise((done) => setImmediate(done));

describe('the reports of a request that has ended', () => {
  test('every reporter reports a request once', async () => {
    const told: number[] = [];
    const { observer } = observerOf([(_, now) => told.push(now), (_, now) => told.push(now)]);
    const context = open(observer);
    context.handled(200, null);
    context.handled(500, 'internal_error');
    await turn();
    expect(told).toEqual([7, 7]);
  });

  test('if one reporter fails, the others still report the request, and the failure is logged once', async () => {
    let told = 0;
    const fails = () => {
      throw new Error('cannot tell');
    };
    const { observer, errors } = observerOf([fails, () => told++, fails]);
    for (let i = 0; i < 2; i++) open(observer).handled(200, null);
    await turn();
    expect(told).toBe(2);
    expect(errors).toEqual([
      'a request could not be added to the log, metrics or traces; further failures of this kind are not logged',
    ]);
  });

  test('requests are reported after their turn of the event loop, in their order, each with its own end time', async () => {
    let now = 0;
    const told: [string, number][] = [];
    const { observer } = observerOf([({ route }, at) => told.push([route, at])], () => now);
    const contexts = ['a', 'b', 'c'].map((route) =>
      observer.open(new Request('http://localhost/'), route, undefined, false),
    );
    for (const context of contexts) {
      now++;
      context.handled(200, null);
    }
    expect(told).toEqual([]);
    now = 9;
    await turn();
    expect(told).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ]);
    await turn();
    expect(told).toHaveLength(3);
  });
});
