import fc from 'fast-check';
import type { ProviderFailure, StreamPart } from '../contract/parts.ts';
import type { Frame, WireAdapter } from '../contract/provider.ts';
import { frames, odd, texts } from './answers.ts';
import { type Law, quoted, same, shown } from './law.ts';
import { failureFault, partsFault } from './parts.ts';
import { aboutWire, type ProviderSubject } from './provider-subject.ts';
import { reachedFault, sealed } from './sealed.ts';

const tellText = (text: string): string => `the body ${quoted(text)}`;
const tellFrames = (list: readonly Frame[]): string =>
  `the events ${list.map(({ event, data }) => (event ? `${event}: ${quoted(data)}` : quoted(data))).join(', ') || 'of an empty stream'}`;

const hasFinish = (parts: readonly StreamPart[]): boolean => parts.some(({ type }) => type === 'finish');

/** What nobody can take for an answer. */
const isNothing = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value !== 'object' || value === null || Object.keys(value).length === 0;
  } catch {
    return true;
  }
};

const reply = aboutWire<string>({
  name: 'reply',
  says: 'whatever comes as an answer becomes parts or a failure; nothing throws, and nonsense is no finished answer',
  cases: texts,
  fault(adapter, text) {
    const parts = adapter.reply(text);
    const fault = partsFault(parts);
    if (fault) return fault;
    return isNothing(text) && hasFinish(parts) ? 'it takes that for a finished answer' : null;
  },
  tell: tellText,
});

function read(adapter: WireAdapter, list: readonly Frame[]): StreamPart[] {
  const reader = adapter.stream();
  return list.flatMap((frame) => [...reader.read(frame)]);
}

const stream = aboutWire<readonly Frame[]>({
  name: 'stream',
  says: 'whatever comes as a stream becomes parts or a failure; nothing throws, and nonsense is no finished answer',
  cases: frames,
  fault(adapter, list) {
    const reader = adapter.stream();
    for (const frame of list) {
      const parts = reader.read(frame);
      const fault = partsFault(parts);
      if (fault) return fault;
    }
    const isNonsense = list.every(({ event, data }) => event === '' && isNothing(data) && !/DONE/.test(data));
    return isNonsense && hasFinish(read(adapter, list)) ? 'it takes that for a finished answer' : null;
  },
  tell: tellFrames,
});

const apart = aboutWire<{ readonly one: readonly Frame[]; readonly other: readonly Frame[] }>({
  name: 'apart',
  says: 'streams that are read at the same time, or one after the other, do not mix',
  cases: (subject) => fc.record({ one: frames(subject), other: frames(subject) }),
  fault(adapter, { one, other }) {
    const alone = read(adapter, one);
    const [left, right] = [adapter.stream(), adapter.stream()];
    const both: StreamPart[] = [];
    for (let at = 0; at < Math.max(one.length, other.length); at++) {
      if (other[at]) right.read(other[at]!);
      if (one[at]) both.push(...left.read(one[at]!));
    }
    if (!same(both, alone)) return `beside another stream it says ${shown(both)}, and alone ${shown(alone)}`;
    const again = read(adapter, one);
    return same(again, alone) ? null : `read again it says ${shown(again)}, and first ${shown(alone)}`;
  },
  tell: ({ one, other }) => `${tellFrames(one)}, beside ${tellFrames(other)}`,
});

const translates = aboutWire<{ readonly text: string; readonly list: readonly Frame[] }>({
  name: 'deterministic',
  says: 'the same answer becomes the same parts, without clock, chance and environment',
  cases: (subject) => fc.record({ text: texts(subject), list: frames(subject) }),
  fault(adapter, { text, list }) {
    const once = () => [adapter.reply(text), read(adapter, list)];
    const { value, reached } = sealed(() => [once(), once()]);
    return reachedFault(reached) ?? (same(value[0], value[1]) ? null : 'read twice it says two things');
  },
  tell: ({ text, list }) => `${tellText(text)} and ${tellFrames(list)}`,
});

interface Refusal {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

const refusals = (subject: ProviderSubject): fc.Arbitrary<Refusal> =>
  fc.record({
    status: fc.oneof(
      fc.constantFrom(400, 401, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504),
      fc.integer({ min: 300, max: 599 }),
    ),
    headers: fc.subarray([
      ['retry-after', '7'],
      ['retry-after', 'soon'],
      ['content-type', 'application/json'],
      ['x-request-id', 'é'.repeat(3)],
    ] as const),
    body: fc.oneof(
      odd,
      fc.constantFrom('', '<html>no</html>', '{"error":{"message":"No.","code":7}}', '{"error":"No."}'),
      texts(subject),
    ),
  });

const failure = aboutWire<Refusal>({
  name: 'failure',
  says: 'any status outside 2xx, with any headers and body, becomes a failure of a known kind',
  cases: refusals,
  fault: (adapter, { status, headers, body }) =>
    failureFault(adapter.failure(status, new Headers(headers.map(([name, value]) => [name, value])), body)),
  tell: ({ status, headers, body }) => `status ${status}, headers ${JSON.stringify(headers)}, body ${quoted(body)}`,
});

type Kind = ProviderFailure['kind'];

/** What a status says by itself, where the body says nothing. */
const MEANT: ReadonlyMap<number, readonly Kind[]> = new Map<number, readonly Kind[]>([
  [401, ['auth']],
  [403, ['auth', 'rejected']],
  [404, ['not_found']],
  [429, ['rate_limited', 'overloaded']],
  [500, ['server', 'overloaded']],
  [502, ['server', 'overloaded', 'connect', 'timeout']],
  [503, ['overloaded', 'server', 'rate_limited']],
]);

const statuses = aboutWire<number>({
  name: 'statuses',
  says: 'a status that speaks for itself has the kind that the gateway acts on: a 5xx is nobody’s request, a 429 passes',
  cases: () => fc.constantFrom(...MEANT.keys()),
  fault(adapter, status) {
    const { kind } = adapter.failure(status, new Headers(), '');
    const meant = MEANT.get(status) ?? [];
    return meant.includes(kind)
      ? null
      : `its kind is \`${kind}\`, not ${meant.map((one) => `\`${one}\``).join(' or ')}`;
  },
  tell: (status) => `status ${status} with an empty body`,
});

/** What every adapter must keep of any answer. */
export const ANSWER_LAWS: readonly Law<ProviderSubject>[] = [reply, stream, apart, translates, failure, statuses];
