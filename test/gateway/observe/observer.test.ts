import { describe, expect, test } from 'bun:test';
import { Observer } from '../../../src/gateway/observe/observer.ts';
import type { Trace } from '../../../src/telemetry/trace.ts';
import { type ContextFacts, callerNamed } from '../../support/request-context.ts';

const MINUTE_MS = 60_000;

/** An observer of which every trace is sampled, and what became of them. */
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
  const observer = new Observer({ trace, reporters: [], log, clock: () => now, nextId: () => 1, written });
  return {
    ended,
    wait: (ms: number) => {
      now += ms;
    },
    end({ keyId = null, status, code = null }: ContextFacts & { readonly status: number }, count: number): void {
      for (let at = 0; at < count; at++) {
        const context = observer.open(new Request('http://localhost/v1/models'), '/v1/models', true);
        if (keyId !== null) context.caller = callerNamed(keyId);
        context.handled(status, code);
      }
    },
  };
}

describe('Traces', () => {
  test('of strangers are some a minute, however many come, so that they do not drown others', () => {
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
