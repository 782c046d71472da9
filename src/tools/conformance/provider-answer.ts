import fc from 'fast-check';
import type { ProviderFailure, StreamPart } from '../../contract/parts.ts';
import type { Frame, StreamReader, WireAdapter } from '../../contract/provider.ts';
import { parseJson } from '../../core/json/object.ts';
import { bodies, frames, oddTexts } from './answers.ts';
import { isEqual, type Law, quote, shortJson } from './law.ts';
import { failureFault, partsFault } from './parts.ts';
import { type ProviderSubject, wireLaw } from './provider-subject.ts';
import { repeatFault } from './sealed.ts';

const describeBody = (text: string): string => `the body ${quote(text)}`;
const describeFrames = (list: readonly Frame[]): string =>
  `the events ${list.map(({ event, data }) => (event ? `${event}: ${quote(data)}` : quote(data))).join(', ') || 'of an empty stream'}`;

const hasFinish = (parts: readonly StreamPart[]): boolean => parts.some(({ type }) => type === 'finish');

/** Whether a text cannot be an answer. */
const isNoAnswer = (text: string): boolean => {
  const value = parseJson(text);
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0;
};

const reply = wireLaw<string>({
  name: 'reply',
  says: 'any answer becomes parts or a failure; nothing throws, and an invalid answer is never a finished one',
  cases: bodies,
  fault(adapter, text) {
    const parts = adapter.reply(text);
    const fault = partsFault(parts);
    if (fault) return fault;
    return isNoAnswer(text) && hasFinish(parts) ? 'the adapter treats the text as a finished answer' : null;
  },
  describe: describeBody,
});

function readAll(adapter: WireAdapter, list: readonly Frame[]): StreamPart[] {
  const reader = adapter.stream();
  return list.flatMap((frame) => [...reader.read(frame)]);
}

/** Texts as in JSON strings. */
const ENCODED = ['a word', 'a \\"word\\"\\n'];

/** Checks that the reader reads events of its form as the gateway does. */
function formFault(reader: StreamReader): string | null {
  for (const encoded of ENCODED) {
    const form = reader.textForm;
    if (!form) return null;
    const data = form.before + encoded + form.after;
    const parts = reader.read({ event: '', data });
    const text: unknown = JSON.parse(`"${encoded}"`);
    if (!isEqual(parts, [{ type: 'text', choice: form.choice, text }]))
      return `the event ${quote(data)} has the form \`textForm\`, but the parts ${shortJson(parts)}`;
  }
  return null;
}

const stream = wireLaw<readonly Frame[]>({
  name: 'stream',
  says: 'any stream becomes parts or a failure; nothing throws, and an invalid stream is never a finished answer',
  cases: frames,
  fault(adapter, list) {
    const reader = adapter.stream();
    for (const frame of list) {
      const parts = reader.read(frame);
      const fault = partsFault(parts) ?? formFault(reader);
      if (fault) return fault;
    }
    const isNonsense = list.every(({ event, data }) => event === '' && isNoAnswer(data) && !/DONE/.test(data));
    return isNonsense && hasFinish(readAll(adapter, list))
      ? 'the adapter treats the stream as a finished answer'
      : null;
  },
  describe: describeFrames,
});

const apart = wireLaw<{ readonly one: readonly Frame[]; readonly other: readonly Frame[] }>({
  name: 'apart',
  says: 'streams that are read at the same time, or one after the other, do not affect each other',
  cases: (subject) => fc.record({ one: frames(subject), other: frames(subject) }),
  fault(adapter, { one, other }) {
    const alone = readAll(adapter, one);
    const [left, right] = [adapter.stream(), adapter.stream()];
    const both: StreamPart[] = [];
    for (let at = 0; at < Math.max(one.length, other.length); at++) {
      if (other[at]) right.read(other[at]!);
      if (one[at]) both.push(...left.read(one[at]!));
    }
    if (!isEqual(both, alone))
      return `in parallel with another stream the adapter returns ${shortJson(both)}, alone ${shortJson(alone)}`;
    const again = readAll(adapter, one);
    return isEqual(again, alone) ? null : `the second read returns ${shortJson(again)}, the first ${shortJson(alone)}`;
  },
  describe: ({ one, other }) => `${describeFrames(one)}, beside ${describeFrames(other)}`,
});

const translates = wireLaw<{ readonly text: string; readonly list: readonly Frame[] }>({
  name: 'deterministic',
  says: 'the same answer always becomes the same parts, independent of clock, randomness and environment',
  cases: (subject) => fc.record({ text: bodies(subject), list: frames(subject) }),
  fault(adapter, { text, list }) {
    return repeatFault(
      () => [adapter.reply(text), readAll(adapter, list)],
      () => 'two reads return different parts',
    );
  },
  describe: ({ text, list }) => `${describeBody(text)} and ${describeFrames(list)}`,
});

interface ErrorResponse {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

const errorResponses = (subject: ProviderSubject): fc.Arbitrary<ErrorResponse> =>
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
      oddTexts,
      fc.constantFrom('', '<html>no</html>', '{"error":{"message":"No.","code":7}}', '{"error":"No."}'),
      bodies(subject),
    ),
  });

const failure = wireLaw<ErrorResponse>({
  name: 'failure',
  says: 'any status outside 2xx, with any headers and body, becomes a failure of a known kind',
  cases: errorResponses,
  fault: (adapter, { status, headers, body }) =>
    failureFault(adapter.failure(status, new Headers(headers.map(([name, value]) => [name, value])), body)),
  describe: ({ status, headers, body }) => `status ${status}, headers ${JSON.stringify(headers)}, body ${quote(body)}`,
});

type Kind = ProviderFailure['kind'];

/** The kinds of failure that a status alone implies. */
const EXPECTED_KINDS: ReadonlyMap<number, readonly Kind[]> = new Map<number, readonly Kind[]>([
  [401, ['auth']],
  [403, ['auth', 'rejected']],
  [404, ['not_found']],
  [429, ['rate_limited', 'overloaded']],
  [500, ['server', 'overloaded']],
  [502, ['server', 'overloaded', 'connect', 'timeout']],
  [503, ['overloaded', 'server', 'rate_limited']],
]);

const statuses = wireLaw<number>({
  name: 'statuses',
  says: 'clear statuses get the kind that the gateway acts on: a 5xx never blames the request, and a 429 is temporary',
  cases: () => fc.constantFrom(...EXPECTED_KINDS.keys()),
  fault(adapter, status) {
    const { kind } = adapter.failure(status, new Headers(), '');
    const meant = EXPECTED_KINDS.get(status) ?? [];
    return meant.includes(kind)
      ? null
      : `the kind is \`${kind}\` but must be ${meant.map((one) => `\`${one}\``).join(' or ')}`;
  },
  describe: (status) => `status ${status} with an empty body`,
});

/** The laws about answers, for every adapter. */
export const ANSWER_LAWS: readonly Law<ProviderSubject>[] = [reply, stream, apart, translates, failure, statuses];
