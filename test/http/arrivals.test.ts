import { describe, expect, test } from 'bun:test';
import type { ErrorCode } from '../../src/core/errors.ts';
import type { Observation } from '../../src/gateway/observe/observation.ts';
import { Observer } from '../../src/gateway/observe/observer.ts';
import { Arrivals } from '../../src/http/arrivals.ts';
import { Visit } from '../../src/http/visit.ts';

/** What is told of a request that ends with an error. */
function toldOf(code: ErrorCode, status: number, isGone: boolean): Pick<Observation, 'code' | 'status'>[] {
  const told: Pick<Observation, 'code' | 'status'>[] = [];
  const quiet = { info() {}, warn() {}, error() {} };
  const arrivals = new Arrivals(
    new Observer({
      trace: null,
      witnesses: [(seen) => told.push({ code: seen.code, status: seen.status })],
      log: quiet,
      clock: () => 0,
      nextId: () => 1,
      written: async () => {},
    }),
  );
  const signal = isGone ? AbortSignal.abort() : null;
  const request = new Request('http://localhost/v1/chat/completions', { method: 'POST', signal });
  arrivals.come(request);
  arrivals.letIn(request, new Visit('/v1/chat/completions', null));
  arrivals.handled(request, status, code);
  return told;
}

describe('An error', () => {
  test('is told as its caller is', () => {
    expect(toldOf('upstream_failed', 502, false)).toEqual([{ code: 'upstream_failed', status: 502 }]);
  });

  test('of a caller who has left is nobody’s', () => {
    expect(toldOf('upstream_failed', 502, true)).toEqual([{ code: null, status: 0 }]);
  });

  test('that is a defect is told whoever has left', () => {
    expect(toldOf('internal_error', 500, true)).toEqual([{ code: 'internal_error', status: 500 }]);
  });
});
