import {
  answered,
  cut,
  type Fault,
  failed,
  HASTY,
  late,
  lost,
  onceBegun,
  stalled,
  type UpstreamRequest,
} from './outcome.ts';
import type { ServerConnection } from './raw-upstream.ts';
import { JUNK, TEXT, USAGE } from './sample-texts.ts';
import {
  begin,
  drip,
  eventsText,
  eventText,
  half,
  head,
  LAST_PIECE,
  piece,
  reply,
  send,
  spoken,
  unclosed,
  wordAt,
} from './wire.ts';

const bytes = (play: (connection: ServerConnection, request: UpstreamRequest) => void | Promise<void>) =>
  ({ speaks: 'bytes', play }) as const;
const CHUNKED = 'transfer-encoding: chunked';

/** Starts an answer, sends these bytes, and ends the connection, cleanly or not. */
const after = (data: ((request: UpstreamRequest) => string) | null, end: (connection: ServerConnection) => unknown) =>
  bytes(async (connection, request) => {
    await begin(connection, request);
    if (data !== null) await connection.write(piece(data(request)));
    await end(connection);
  });

/** An event with invalid JSON, under the name of a text event. */
const broken = ({ dialect }: UpstreamRequest): string =>
  eventText(dialect.nameOf(dialect.word('', null)[0]!), `{${JUNK}}`);

async function close(connection: ServerConnection): Promise<void> {
  await connection.write(LAST_PIECE);
  connection.end();
}

/** Answers that break off or are too slow. */
export const BREAK_FAULTS: readonly Fault[] = [
  {
    name: 'slow body',
    does: 'keeps sending small pieces beyond the total deadline',
    deadlines: HASTY,
    upstream: bytes(async (connection, request) => {
      await connection.write(head(request, CHUNKED));
      const { dialect } = request;
      const begun = half({ ...request, stream: false });
      await drip(connection, 100, (at) => {
        if (!request.stream) return piece(begun[at] ?? ' ');
        return piece(eventsText(dialect, at === 0 ? dialect.opening(USAGE) : [], wordAt(dialect, 'aaaa', at)));
      });
    }),
    json: late,
    stream: stalled,
  },
  {
    name: 'slow body, only comments',
    does: 'sends only comments and never an event, or only white space instead of JSON',
    deadlines: HASTY,
    upstream: bytes(async (connection, request) => {
      await connection.write(head(request, CHUNKED));
      await drip(connection, 50, () => piece(request.stream ? `: ${JUNK}\n\n` : ' '));
    }),
    json: late,
    stream: late,
  },
  {
    name: 'stall',
    does: 'starts an answer and then sends nothing',
    deadlines: HASTY,
    upstream: bytes(begin),
    json: late,
    stream: stalled,
  },
  {
    name: 'an answer that is never closed',
    does: 'sends its whole answer but never ends it',
    deadlines: HASTY,
    upstream: bytes(async (connection, request) => {
      await connection.write(head(request, CHUNKED));
      const { dialect } = request;
      await connection.write(piece(request.stream ? unclosed(dialect) : reply(dialect)));
    }),
    json: late,
    stream: answered(),
  },
  {
    name: 'truncated SSE',
    does: 'closes the connection in the middle of an answer',
    upstream: after(null, (connection) => connection.end()),
    json: lost('cut'),
    stream: cut('cut'),
  },
  {
    name: 'truncated SSE, before content',
    does: 'closes the connection before any content',
    upstream: bytes(async (connection, request) => {
      const { dialect } = request;
      const opening = eventsText(dialect, dialect.opening(USAGE));
      await connection.write(head(request, CHUNKED));
      await connection.write(piece(request.stream ? opening || ':\n\n' : '{'));
      connection.end();
    }),
    json: lost('cut'),
    stream: lost('cut'),
    except: onceBegun('cut'),
  },
  {
    name: 'cleanly truncated SSE',
    does: 'ends in the middle of an answer as if it were complete',
    upstream: after(null, close),
    json: failed('malformed'),
    stream: cut('cut'),
  },
  {
    name: 'cleanly truncated SSE, before content',
    does: 'ends before any content as if it were complete',
    upstream: bytes((connection, request) => {
      const { stream, dialect } = request;
      return send(connection, request, [
        stream ? eventsText(dialect, dialect.opening(USAGE)) + dialect.end || ':\n\n' : '{}',
      ]);
    }),
    json: failed('malformed'),
    stream: failed('malformed'),
    except: onceBegun('malformed'),
  },
  {
    name: 'half a chunk of JSON',
    does: 'ends in the middle of the JSON of a chunk',
    upstream: after(({ dialect }) => eventsText(dialect, dialect.word(JUNK, null)).slice(0, -9), close),
    json: failed('malformed'),
    stream: cut('cut'),
  },
  {
    name: 'malformed chunk',
    does: 'starts with something that is not JSON',
    upstream: bytes((connection, request) =>
      send(connection, request, [request.stream ? broken(request) : `{${JUNK}}`]),
    ),
    json: failed('malformed'),
    stream: failed('malformed'),
  },
  {
    name: 'malformed chunk in the middle of an answer',
    does: 'continues with something that is not JSON',
    upstream: after(broken, close),
    json: failed('malformed'),
    stream: cut('malformed'),
  },
  {
    name: 'malformed HTTP chunk',
    does: 'breaks the HTTP framing in the middle of an answer',
    upstream: bytes(async (connection, request) => {
      await begin(connection, request);
      await connection.write(`${JUNK}\r\n`);
      connection.end();
    }),
    json: lost('cut'),
    stream: cut('cut'),
  },
  {
    name: 'reset after N chunks',
    does: 'resets the connection in the middle of an answer',
    upstream: after(null, (connection) => connection.reset()),
    json: lost('cut'),
    stream: cut('cut'),
  },
  {
    name: 'a length too small',
    does: 'sends a `content-length` that is shorter than its answer',
    upstream: bytes(async (connection, request) => {
      const begun = half(request);
      await connection.write(head(request, `content-length: ${Buffer.byteLength(begun)}`, 'connection: close') + begun);
      if (request.stream) await request.seen;
      connection.end();
    }),
    json: failed('malformed'),
    stream: cut('cut'),
  },
  {
    name: 'a length too large',
    does: 'sends a `content-length` that is longer than its answer',
    upstream: bytes(async (connection, request) => {
      const begun = request.stream ? half(request) : reply(request.dialect);
      await connection.write(head(request, 'content-length: 99999') + begun);
      if (request.stream) await request.seen;
      connection.end();
    }),
    json: lost('cut'),
    stream: cut('cut'),
  },
  {
    name: 'no finish',
    does: 'ends without a finish reason',
    upstream: bytes((connection, request) => {
      const { stream, dialect } = request;
      return send(connection, request, stream ? [spoken(dialect), dialect.end] : [dialect.reply(TEXT, USAGE, false)]);
    }),
    json: failed('cut', 'upstream_failed', 'reported'),
    stream: cut('cut'),
  },
];
