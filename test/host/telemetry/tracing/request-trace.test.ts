import { describe, expect, test } from 'bun:test';
import type { HrTime } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import fc from 'fast-check';
import type { CallTrace, Trace } from '../../../../src/host/telemetry/trace.ts';
import { TraceIds } from '../../../../src/host/telemetry/tracing/ids.ts';
import { RequestTrace } from '../../../../src/host/telemetry/tracing/request-trace.ts';

const STEPS = ['admit', 'pin', 'profile', 'shortlist', 'decide', 'reserve', 'dispatch', 'settle'] as const;
const told = (name: string) => ({ name, attributes: {}, error: null });
const TRACE = '0af7651916cd43dd8448eb211c80319c';

type Act =
  | { readonly do: 'step'; readonly step: (typeof STEPS)[number] }
  | { readonly do: 'call' | 'end' }
  /** An earlier call, which may already have ended. */
  | { readonly do: 'answer'; readonly which: number };

const acts: fc.Arbitrary<readonly (readonly [act: Act, waitMs: number])[]> = fc.array(
  fc.tuple(
    fc.oneof<fc.Arbitrary<Act>[]>(
      fc.record({ do: fc.constant('step' as const), step: fc.constantFrom(...STEPS) }),
      fc.record({ do: fc.constant('call' as const) }),
      fc.record({ do: fc.constant('answer' as const), which: fc.nat(9) }),
      fc.record({ do: fc.constant('end' as const) }),
    ),
    fc.oneof(fc.constant(0), fc.double({ min: 0, max: 5_000, noNaN: true })),
  ),
  { maxLength: 30 },
);

/** Returns the spans of a trace after these actions and its end. */
function spansAfter(script: readonly (readonly [act: Act, waitMs: number])[]): ReadableSpan[] {
  const spans: ReadableSpan[] = [];
  let now = 12.345678;
  const of = {
    clock: () => now,
    now: () => 1_795_226_060_278,
    ids: new TraceIds(),
    propagates: true,
    resource: emptyResource(),
    scope: { name: 'signalbox', version: '1' },
    take: (span: ReadableSpan) => void spans.push(span),
  };
  const trace: Trace = new RequestTrace(TRACE, true, null, of);
  const calls: CallTrace[] = [];
  for (const [act, waitMs] of script) {
    now += waitMs;
    if (act.do === 'step') trace.step(act.step);
    else if (act.do === 'call') calls.push(trace.call());
    else if (act.do === 'answer') calls[act.which]?.end(told('chat'));
    else trace.end(told('request'));
  }
  trace.end(told('request'));
  return spans;
}

const nanoseconds = ([seconds, rest]: HrTime): bigint => BigInt(seconds) * 1_000_000_000n + BigInt(rest);

/** Whether the request has a single root span, and every span is within its parent. */
function isWhole(spans: readonly ReadableSpan[]): boolean {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const roots = spans.filter(({ parentSpanContext }) => parentSpanContext === undefined);
  return (
    roots.length === 1 &&
    byId.size === spans.length &&
    spans.every(({ spanContext, parentSpanContext: parent, startTime: start, endTime: end }) => {
      if (spanContext().traceId !== TRACE || nanoseconds(end) < nanoseconds(start)) return false;
      if (!parent) return true;
      const above = byId.get(parent.spanId);
      return (
        above !== undefined &&
        nanoseconds(start) >= nanoseconds(above.startTime) &&
        nanoseconds(end) <= nanoseconds(above.endTime)
      );
    })
  );
}

const law = (change: (spans: readonly ReadableSpan[]) => readonly ReadableSpan[]) =>
  fc.property(acts, (script) => isWhole(change(spansAfter(script))));

describe('any sequence of steps and calls', () => {
  test('any sequence of steps and calls has one tree of spans, with every span within its parent', () => {
    fc.assert(law((spans) => spans));
  });

  test.each<[string, (spans: readonly ReadableSpan[]) => readonly ReadableSpan[]]>([
    [
      'ends a step when the next step begins, although a call of the step is still running',
      (spans) =>
        spans.map((span, at) => {
          const next = spans[at + 1];
          return span.kind === 0 && next?.kind === 0 ? { ...span, endTime: next.startTime } : span;
        }),
    ],
    ['forgets the request', (spans) => spans.filter(({ parentSpanContext }) => parentSpanContext !== undefined)],
  ])('the law about traces catches a trace that %s', (_, change) => {
    // The mutant is tried until the law fails.
    expect(fc.check(law(change), { numRuns: 200_000, endOnFailure: true }).failed).toBe(true);
  });
});
