import { describe, expect, test } from 'bun:test';
import { TraceState } from '@opentelemetry/core';
import fc from 'fast-check';
import { contextHeaders, parseContext } from '../../../../src/host/telemetry/tracing/context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const PARENT = `00-${TRACE}-${SPAN}-01`;

const members = (length: number) => Array.from({ length }, (_, at) => `k${at}=1`).join(',');

type Parse = typeof parseContext;

function parsed(traceparent: string, tracestate?: string) {
  const context = parseContext(new Headers({ traceparent, ...(tracestate !== undefined && { tracestate }) }));
  if (context === null) return null;
  const { traceId, spanId, traceFlags, traceState } = context;
  return { traceId, spanId, isSampled: (traceFlags & 1) === 1, state: traceState?.serialize() ?? null };
}

describe('a traceparent', () => {
  test('a traceparent has a trace, a span and a sampling flag', () => {
    expect(parsed(PARENT)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true, state: null });
    expect(parsed(`00-${TRACE}-${SPAN}-00`)?.isSampled).toBe(false);
  });

  test('a traceparent may have unknown flags', () => {
    expect(parsed(`00-${TRACE}-${SPAN}-ff`)?.isSampled).toBe(true);
    expect(parsed(`00-${TRACE}-${SPAN}-fe`)?.isSampled).toBe(false);
  });

  test.each([
    ['with the length of ours', `cc-${TRACE}-${SPAN}-01`],
    ['that says more', `cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`],
    ['that ends in a hyphen', `01-${TRACE}-${SPAN}-01-`],
    ['with more members than expected', `cc-${TRACE}-${SPAN}-01-${'x'.repeat(10_000)}`],
  ])('a traceparent of a future version, %s, is read as far as it is known', (_, text) => {
    expect(parsed(text)?.traceId).toBe(TRACE);
  });

  test.each([
    ['the invalid version ff', `ff-${TRACE}-${SPAN}-01`],
    ['capitals', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['more text after the flags of the first version', `${PARENT}-more`],
    ['a hyphen after the flags of the first version', `${PARENT}-`],
    ['other text after the flags of another version', `cc-${TRACE}-${SPAN}-01.more`],
    ['an ID that is too short', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['an ID that is too long', `00-${TRACE}0-${SPAN}-01`],
    ['letters that are not hexadecimal digits', `00-${TRACE.slice(1)}g-${SPAN}-01`],
    ['no flags', `00-${TRACE}-${SPAN}`],
    ['nothing', ''],
    ['two of them', `${PARENT}, ${PARENT}`],
  ])('a traceparent with %s is ignored', (_, text) => {
    expect(parsed(text)).toBeNull();
  });

  test('without a traceparent, a tracestate is ignored', () => {
    expect(parseContext(new Headers({ tracestate: 'a=1' }))).toBeNull();
  });
});

describe('a tracestate', () => {
  test.each([
    'congo=t61rcWkgMzE',
    'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
    'fw529a3039@dt=FfAAA/z,a_-*/=~!#$%',
    '0tenant@sys=1',
    `k=${'v'.repeat(256)}`,
    members(32),
  ])('a tracestate is propagated unchanged: %s', (text) => {
    expect(parsed(PARENT, text)?.state).toBe(text);
  });

  test.each([
    ['blanks', 'a=1, b=2 ,\tc=3', 'a=1,b=2,c=3'],
    ['empty members', 'a=1,,b=2,', 'a=1,b=2'],
    ['an invalid member', 'a=1,B=2,c=3', 'a=1,c=3'],
    ['a key twice', 'a=1,b=2,a=3', 'a=3,b=2'],
    ['more members than 32', members(33), members(32)],
    ['more characters than 512', `a=${'v'.repeat(255)},b=${'v'.repeat(256)}`, `a=${'v'.repeat(255)}`],
  ])('a tracestate is propagated without %s', (_, text, sent) => {
    expect(parsed(PARENT, text)?.state).toBe(sent);
  });

  test.each([
    ['no value', 'a='],
    ['no key', '=a'],
    ['no equals sign between them', 'a'],
    ['a second sign', 'a=b=c'],
    ['capitals in a key', 'A=1'],
    ['a key that begins with a sign', '@a=1'],
    ['letters beyond ASCII', 'a=é'],
    ['a control character', 'a=\u0001b'],
    ['too long a key', `${'a'.repeat(257)}=1`],
    ['too long a value', `a=${'v'.repeat(257)}`],
    ['nothing', ''],
    ['nothing but commas', ',,'],
  ])('a tracestate with %s is dropped, but the trace is kept', (_, text) => {
    expect(parsed(PARENT, text)).toMatchObject({ traceId: TRACE, state: null });
  });
});

/** Contexts with at most one mistake, and any other header values. */
const latin = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
const hex = (length: number) =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length }),
    },
    fc.constant('0'.repeat(length)),
    fc.string({ unit: fc.constantFrom(...'0aAgZ-'), minLength: length - 1, maxLength: length + 1 }),
  );
const parents = fc.oneof(
  latin(80),
  fc
    .tuple(fc.oneof(fc.constant('00'), hex(2)), hex(32), hex(16), hex(2), fc.oneof(fc.constant(''), latin(20)))
    .map(([version, trace, span, flags, rest]) => `${version}-${trace}-${span}-${flags}${rest}`),
);
const states = fc.oneof(
  latin(600),
  fc
    .array(fc.tuple(fc.string({ unit: fc.constantFrom(...'ab1@*A ') }), latin(8)), { maxLength: 40 })
    .map((members) => members.map(([key, value]) => `${key}=${value}`).join(',')),
);

/** Whether parsing never throws, and returns either null or a context that the next server parses in the same way. */
function holds(parse: Parse, traceparent: string, tracestate: string): boolean {
  const headers = new Headers();
  try {
    headers.set('traceparent', traceparent);
    headers.set('tracestate', tracestate);
  } catch {
    // No HTTP header can contain this text.
    return true;
  }
  const context = parse(headers);
  if (context === null) return true;
  const sent = contextHeaders(context);
  const isValid =
    /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[01]$/.test(sent.traceparent ?? '') &&
    (sent.tracestate === undefined || (sent.tracestate.length <= 512 && /^[\t\x20-\x7e]+$/.test(sent.tracestate)));
  const again = parseContext(new Headers(sent));
  return isValid && again !== null && Bun.deepEquals(contextHeaders(again), sent);
}

/** A state that is passed on unchanged. */
const unparsed = (text: string): TraceState => Object.assign(new TraceState(), { serialize: () => text });

const law = (parse: Parse) =>
  fc.property(parents, states, (traceparent, tracestate) => holds(parse, traceparent, tracestate));

describe('any bytes in the two headers', () => {
  test('for any bytes in the two headers, parsing never throws, and returns no context or one that the next server accepts', () => {
    fc.assert(law(parseContext), { numRuns: 5_000 });
  });

  test.each<[string, Parse]>([
    [
      'accepts IDs of zeros',
      (headers) => {
        const [, traceId, spanId] =
          /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})/.exec(headers.get('traceparent') ?? '') ?? [];
        return traceId && spanId ? { traceId, spanId, traceFlags: 1 } : null;
      },
    ],
    [
      'passes on any tracestate',
      (headers) => {
        const context = parseContext(headers);
        const state = headers.get('tracestate');
        return context && { ...context, traceState: state === null ? undefined : unparsed(state) };
      },
    ],
  ])('the law about trace headers catches a parser that %s', (_, mutant) => {
    expect(fc.check(law(mutant), { numRuns: 5_000, endOnFailure: true }).failed).toBe(true);
  });
});
