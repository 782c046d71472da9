import fc from 'fast-check';
import type { StreamPart } from '../../contract/parts.ts';
import type { WireAdapter } from '../../contract/provider.ts';
import type { ConformanceHost } from './host.ts';
import { isEqual, type Law, shortJson } from './law.ts';
import { joinParts, orderFault } from './parts.ts';
import { framesIn, type ProviderSubject, wireLaw } from './provider-subject.ts';
import { expectationFault, type Sample } from './samples.ts';

const encoder = new TextEncoder();

/** Reads a stream in chunks, as a real call does. */
function readPieces(adapter: WireAdapter, host: ConformanceHost, pieces: readonly Uint8Array[]): StreamPart[] {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const parser = host.frames(adapter.frames);
  const reader = adapter.stream();
  const list = [...pieces.flatMap((piece) => [...parser.push(decoder.decode(piece, { stream: true }))])];
  return [...list, ...parser.push(decoder.decode()), ...parser.end()].flatMap((frame) => [...reader.read(frame)]);
}

const sampleParts = (adapter: WireAdapter, host: ConformanceHost, { kind, text }: Sample): readonly StreamPart[] =>
  kind === 'reply' ? adapter.reply(text) : readPieces(adapter, host, [encoder.encode(text)]);

const sampleFrom = (samples: readonly Sample[]): fc.Arbitrary<Sample> | null =>
  samples.length > 0 ? fc.constantFrom(...samples) : null;

/** Splits bytes at the given offsets. */
function split(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
}

const describeSample = ({ name }: Sample): string => `the sample ${name}`;

const samples = wireLaw<Sample>({
  name: 'samples',
  says: 'each recorded answer gives the result that is written next to it',
  cases: (subject) => sampleFrom(subject.samples.filter(({ expect }) => expect !== null)),
  fault: (adapter, sample, { host }) =>
    sample.expect && expectationFault(sampleParts(adapter, host, sample), sample.expect),
  describe: describeSample,
});

const splits = wireLaw<{ readonly sample: Sample; readonly places: readonly number[]; readonly isNoisy: boolean }>({
  name: 'splits',
  says: 'a stream gives the same parts wherever the network splits it, with any line ends, and with comments',
  cases(subject) {
    const sample = sampleFrom(subject.samples.filter(({ kind }) => kind === 'stream'));
    return sample && fc.record({ sample, places: fc.array(fc.nat(65_536), { maxLength: 12 }), isNoisy: fc.boolean() });
  },
  fault(adapter, { sample, places, isNoisy }, { host }) {
    const whole = sampleParts(adapter, host, sample);
    if (whole.length === 0) return `the frames \`${adapter.frames}\` find nothing in the stream`;
    const text = isNoisy ? noisy(adapter, sample.text) : sample.text;
    const cut = readPieces(adapter, host, split(encoder.encode(text), places));
    return isEqual(cut, whole) ? null : `split, the stream gives ${shortJson(cut)}; in one piece ${shortJson(whole)}`;
  },
  describe: ({ sample, places, isNoisy }) =>
    `the sample ${sample.name}, cut at ${places.join(', ') || 'no place'}${isNoisy ? ', with CRLF and comments' : ''}`,
});

const noisy = ({ frames }: WireAdapter, text: string): string => {
  const ended = text.replace(/\r?\n/g, '\r\n');
  return frames === 'sse' ? ended.replaceAll('\r\n\r\n', '\r\n\r\n: keep-alive\r\n\r\n') : ended;
};

function endingFault(parts: readonly StreamPart[]): string | null {
  const finished = new Set<number>();
  const fault = orderFault(parts, finished);
  if (fault) return fault;
  return finished.size > 0 || parts.some(({ type }) => type === 'failure')
    ? null
    : 'the answer has no `finish`, so the gateway would treat it as broken off';
}

const ending = wireLaw<Sample>({
  name: 'ending',
  says: 'a recorded answer ends with a `finish` for each choice, and then at most usage with plausible numbers',
  cases: (subject) => sampleFrom(subject.samples),
  fault: (adapter, sample, { host }) => endingFault(joinParts(sampleParts(adapter, host, sample))),
  describe: describeSample,
});

const isContent = (part: StreamPart): boolean =>
  part.type === 'text' || part.type === 'tool-call' || part.type === 'refusal';

const cut = wireLaw<{ readonly sample: Sample; readonly place: number }>({
  name: 'cut',
  says: 'a stream that breaks off before its end has no `finish`',
  cases(subject) {
    const sample = sampleFrom(subject.samples.filter(({ kind }) => kind === 'stream'));
    return sample && fc.record({ sample, place: fc.nat(65_536) });
  },
  fault(adapter, { sample, place }, { host }) {
    const list = framesIn(host, adapter.frames, sample.text);
    const kept = place % (list.length + 1);
    const reader = adapter.stream();
    const parts = list.map((frame) => [...reader.read(frame)]);
    const [before, after] = [parts.slice(0, kept).flat(), parts.slice(kept).flat()];
    const choices = new Set(after.filter(isContent).map((part) => ('choice' in part ? part.choice : 0)));
    const early = before.find((part) => part.type === 'finish' && choices.has(part.choice));
    return early ? `${shortJson(early)} comes before the end of the stream` : null;
  },
  describe: ({ sample, place }) => `the sample ${sample.name}, cut after event ${place} (modulo the number of events)`,
});

/** The laws about recorded answers, for every adapter. */
export const SAMPLE_LAWS: readonly Law<ProviderSubject>[] = [samples, splits, ending, cut];
