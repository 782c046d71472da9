import type { CallForm, ToolText } from './dialect.ts';
import { answered, type Fault, failed, onceBegun, type UpstreamRequest } from './outcome.ts';
import { TEXT, USAGE } from './sample-texts.ts';
import { eventsText, send } from './wire.ts';

const bytes = (writes: (request: UpstreamRequest) => readonly (string | Uint8Array)[]) =>
  ({ speaks: 'bytes', play: (line, request) => send(line, request, writes(request)) }) satisfies Fault['upstream'];
const good = { json: answered(), stream: answered() };

/** Sends an answer with a text, in JSON or as a stream. */
const saying =
  (text: string) =>
  ({ stream, dialect }: UpstreamRequest): string =>
    stream
      ? eventsText(dialect, dialect.opening(USAGE), dialect.word(text, null), dialect.finish('stop', USAGE, text)) +
        dialect.end
      : dialect.reply(text, USAGE);

const everyByte = (text: string): Uint8Array[] => Array.from(Buffer.from(text), (byte) => Uint8Array.of(byte));

const FOREIGN = 'Größe: 完全な 💡';

/** Replaces a mark with bytes. */
function withBytes(text: string, mark: string, ...inserted: readonly number[]): Uint8Array {
  const pieces = text.split(mark).map((piece) => Buffer.from(piece));
  return Buffer.concat(pieces.flatMap((piece, at) => (at === 0 ? [piece] : [Uint8Array.from(inserted), piece])));
}

/** A call of the tool, with arguments. */
export const TOOL: ToolText = { name: 'look_up', arguments: '{"city":"Köln","days":[1,2]}' };

/** A call of the tool, in JSON or as a stream. */
const calling = (form: CallForm) =>
  bytes(({ stream, dialect }) => [
    stream
      ? eventsText(dialect, dialect.callEvents(TOOL, form, USAGE)) + dialect.end
      : dialect.callReply(TOOL, form, USAGE),
  ]);

/** Answers with unusual content. */
export const CONTENT_FAULTS: readonly Fault[] = [
  {
    name: 'tool deltas split mid-JSON',
    does: 'streams the arguments of a tool call letter by letter',
    tool: TOOL.name,
    upstream: calling('whole'),
    ...good,
  },
  {
    name: 'missing index or id',
    isUnruly: true,
    does: 'omits the index and the ID of a tool call, and the index of a choice',
    tool: TOOL.name,
    upstream: calling('untidy'),
    ...good,
  },
  {
    name: 'a tool call without a name',
    does: 'never names the tool that it calls',
    tool: TOOL.name,
    upstream: calling('nameless'),
    json: failed('malformed', 'upstream_failed', 'reported'),
    stream: failed('malformed'),
    except: {
      ...onceBegun('malformed'),
      gemini: {
        because: 'it reports its usage together with the call',
        stream: failed('malformed', 'upstream_failed', 'reported'),
      },
    },
  },
  {
    name: 'split UTF-8',
    does: 'splits letters between their bytes',
    text: FOREIGN,
    upstream: bytes((request) => everyByte(saying(FOREIGN)(request))),
    ...good,
  },
  {
    name: 'bad UTF-8',
    does: 'sends bytes in its text that are not UTF-8',
    text: 'aaaa\ufffdbbbb',
    upstream: bytes((request) => [withBytes(saying('aaaa#bbbb')(request), '#', 0xff)]),
    ...good,
  },
  {
    name: 'a byte order mark',
    does: 'starts with a byte order mark',
    upstream: bytes((request) => [`\ufeff${saying(TEXT)(request)}`]),
    ...good,
  },
  {
    name: 'NUL in the text',
    does: 'has an escaped NUL in its text',
    text: 'aaaa\u0000bbbb',
    upstream: bytes((request) => [saying('aaaa\u0000bbbb')(request)]),
    ...good,
  },
  {
    name: 'NUL',
    does: 'has a NUL byte in its JSON',
    upstream: bytes((request) => [withBytes(saying('aaaa#bbbb')(request), '#', 0)]),
    json: failed('malformed'),
    stream: failed('malformed'),
    except: onceBegun('malformed'),
  },
];
