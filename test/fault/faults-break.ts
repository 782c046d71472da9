import { type Asked, answered, cut, type Fault, failed, HASTY, late, lost, onceBegun, stalled } from './outcome.ts';
import type { Line } from './raw-upstream.ts';
import {
  begin,
  drip,
  eventText,
  half,
  head,
  LAST_PIECE,
  piece,
  reply,
  send,
  spoken,
  told,
  unclosed,
  wordAt,
} from './wire.ts';
import { JUNK, TEXT, USAGE } from './words.ts';

const bytes = (play: (line: Line, asked: Asked) => void | Promise<void>) => ({ speaks: 'bytes', play }) as const;
const CHUNKED = 'transfer-encoding: chunked';

/** Begins an answer and ends it so: with these bytes, and cleanly or not. */
const after = (data: ((asked: Asked) => string) | null, end: (line: Line) => unknown) =>
  bytes(async (line, asked) => {
    await begin(line, asked);
    if (data !== null) await line.write(piece(data(asked)));
    await end(line);
  });

/** An event that is no JSON, by the name of those that bring text. */
const broken = ({ dialect }: Asked): string => eventText(dialect.nameOf(dialect.word('', null)[0]!), `{${JUNK}}`);

async function close(line: Line): Promise<void> {
  await line.write(LAST_PIECE);
  line.end();
}

/** Answers that break off, or take too long. */
export const BREAK_FAULTS: readonly Fault[] = [
  {
    name: 'slow body',
    of: 'slow body',
    does: 'sends a little all the time, past the deadline of the whole',
    deadlines: HASTY,
    upstream: bytes(async (line, asked) => {
      await line.write(head(asked, CHUNKED));
      const { dialect } = asked;
      const begun = half({ ...asked, stream: false });
      await drip(line, 100, (at) => {
        if (!asked.stream) return piece(begun[at] ?? ' ');
        return piece(told(dialect, at === 0 ? dialect.opening(USAGE) : [], wordAt(dialect, 'aaaa', at)));
      });
    }),
    json: late,
    stream: stalled,
  },
  {
    name: 'slow body, only comments',
    of: 'slow body',
    does: 'sends comments and never an event; with JSON, white space',
    deadlines: HASTY,
    upstream: bytes(async (line, asked) => {
      await line.write(head(asked, CHUNKED));
      await drip(line, 50, () => piece(asked.stream ? `: ${JUNK}\n\n` : ' '));
    }),
    json: late,
    stream: late,
  },
  {
    name: 'stall',
    of: 'stall',
    does: 'begins an answer and falls silent',
    deadlines: HASTY,
    upstream: bytes(begin),
    json: late,
    stream: stalled,
  },
  {
    name: 'an answer that is never closed',
    of: 'no [DONE]',
    does: 'sends all of its answer and does not end it',
    deadlines: HASTY,
    upstream: bytes(async (line, asked) => {
      await line.write(head(asked, CHUNKED));
      const { dialect } = asked;
      await line.write(piece(asked.stream ? unclosed(dialect) : reply(dialect)));
    }),
    json: late,
    stream: answered(),
  },
  {
    name: 'truncated SSE',
    of: 'truncated SSE',
    does: 'closes the connection within an answer',
    upstream: after(null, (line) => line.end()),
    json: lost('cut'),
    stream: cut('cut'),
  },
  {
    name: 'truncated SSE, before content',
    of: 'truncated SSE',
    does: 'closes the connection before any content',
    upstream: bytes(async (line, asked) => {
      const { dialect } = asked;
      const opening = told(dialect, dialect.opening(USAGE));
      await line.write(head(asked, CHUNKED));
      await line.write(piece(asked.stream ? opening || ':\n\n' : '{'));
      line.end();
    }),
    json: lost('cut'),
    stream: lost('cut'),
    except: onceBegun('cut'),
  },
  {
    name: 'cleanly truncated SSE',
    of: 'cleanly truncated SSE',
    does: 'ends within an answer as if it were whole',
    upstream: after(null, close),
    json: failed('malformed'),
    stream: cut('cut'),
  },
  {
    name: 'cleanly truncated SSE, before content',
    of: 'cleanly truncated SSE',
    does: 'ends before any content as if it were whole',
    upstream: bytes((line, asked) => {
      const { stream, dialect } = asked;
      return send(line, asked, [stream ? told(dialect, dialect.opening(USAGE)) + dialect.end || ':\n\n' : '{}']);
    }),
    json: failed('malformed'),
    stream: failed('malformed'),
    except: onceBegun('malformed'),
  },
  {
    name: 'half a chunk of JSON',
    of: 'half a chunk of JSON',
    does: 'ends within the JSON of a chunk',
    upstream: after(({ dialect }) => told(dialect, dialect.word(JUNK, null)).slice(0, -9), close),
    json: failed('malformed'),
    stream: cut('cut'),
  },
  {
    name: 'malformed chunk',
    of: 'malformed chunk',
    does: 'begins with something that is no JSON',
    upstream: bytes((line, asked) => send(line, asked, [asked.stream ? broken(asked) : `{${JUNK}}`])),
    json: failed('malformed'),
    stream: failed('malformed'),
  },
  {
    name: 'malformed chunk amid an answer',
    of: 'malformed chunk',
    does: 'goes on with something that is no JSON',
    upstream: after(broken, close),
    json: failed('malformed'),
    stream: cut('malformed'),
  },
  {
    name: 'malformed chunk of HTTP',
    of: 'malformed chunk',
    does: 'breaks the framing of HTTP within an answer',
    upstream: bytes(async (line, asked) => {
      await begin(line, asked);
      await line.write(`${JUNK}\r\n`);
      line.end();
    }),
    json: lost('cut'),
    stream: cut('cut'),
  },
  {
    name: 'reset after N chunks',
    of: 'reset after N chunks',
    does: 'resets the connection within an answer',
    upstream: after(null, (line) => line.reset()),
    json: lost('cut'),
    stream: cut('cut'),
  },
  {
    name: 'a length too small',
    of: 'cleanly truncated SSE',
    does: 'states a `content-length` that cuts its answer',
    upstream: bytes(async (line, asked) => {
      const begun = half(asked);
      await line.write(head(asked, `content-length: ${Buffer.byteLength(begun)}`, 'connection: close') + begun);
      if (asked.stream) await asked.seen;
      line.end();
    }),
    json: failed('malformed'),
    stream: cut('cut'),
  },
  {
    name: 'a length too large',
    of: 'truncated SSE',
    does: 'states a `content-length` that its answer does not fill',
    upstream: bytes(async (line, asked) => {
      const begun = asked.stream ? half(asked) : reply(asked.dialect);
      await line.write(head(asked, 'content-length: 99999') + begun);
      if (asked.stream) await asked.seen;
      line.end();
    }),
    json: lost('cut'),
    stream: cut('cut'),
  },
  {
    name: 'no finish',
    of: 'no finish',
    does: 'gives no reason for its end',
    upstream: bytes((line, asked) => {
      const { stream, dialect } = asked;
      return send(line, asked, stream ? [spoken(dialect), dialect.end] : [dialect.reply(TEXT, USAGE, false)]);
    }),
    json: failed('cut', 'upstream_failed', 'reported'),
    stream: cut('cut'),
  },
];
