import { answered, answeredAfter, type Fault, failed, HASTY, late, lost, type UpstreamRequest } from './outcome.ts';
import type { ServerConnection } from './raw-upstream.ts';
import { JUNK, TEXT } from './sample-texts.ts';
import { drip, head, LAST_PIECE, ok, piece, send, whole } from './wire.ts';

const nobody = (address: 'nobody' | 'unresolvable' | 'untrusted' | 'plain') =>
  ({ speaks: 'nothing', address }) as const;
const bytes = (play: (connection: ServerConnection, request: UpstreamRequest) => void | Promise<void>) =>
  ({ speaks: 'bytes', play }) as const;

/** Faults before the head of an answer is complete. */
export const CONNECTION_FAULTS: readonly Fault[] = [
  {
    name: 'refused',
    does: 'does not listen',
    upstream: nobody('nobody'),
    json: failed('connect'),
    stream: failed('connect'),
  },
  {
    name: 'DNS',
    does: 'has a host name that does not resolve',
    upstream: nobody('unresolvable'),
    json: failed('connect'),
    stream: failed('connect'),
  },
  {
    name: 'TLS',
    does: 'has a certificate that no known authority has signed',
    upstream: nobody('untrusted'),
    json: failed('connect'),
    stream: failed('connect'),
  },
  {
    name: 'TLS expected, but plain HTTP spoken',
    does: 'speaks plain HTTP although TLS is expected',
    upstream: nobody('plain'),
    json: failed('connect'),
    stream: failed('connect'),
  },
  {
    name: 'hangs up',
    does: 'accepts the request and resets the connection',
    upstream: bytes((connection) => connection.reset()),
    json: lost('connect'),
    stream: lost('connect'),
  },
  {
    name: 'half a status line',
    does: 'closes the connection in the middle of the status line',
    upstream: bytes(async (connection) => {
      await connection.write('HTTP/1.1 20');
      connection.end();
    }),
    json: lost('connect'),
    stream: lost('connect'),
  },
  {
    name: 'no HTTP',
    does: 'answers with something that is not HTTP',
    upstream: bytes(async (connection) => {
      await connection.write(`${JUNK}\r\n\r\n`);
      connection.end();
    }),
    json: lost('connect'),
    stream: lost('connect'),
  },
  {
    name: 'no headers',
    does: 'accepts the request and never answers',
    upstream: bytes(() => {}),
    deadlines: HASTY,
    json: late,
    stream: late,
  },
  {
    name: 'slow headers',
    does: 'sends its headers byte by byte, beyond the deadline',
    upstream: bytes((connection, request) =>
      drip(connection, 40, (at) => head(request, `x-slow: ${JUNK.repeat(99)}`)[at]!),
    ),
    deadlines: HASTY,
    json: late,
    stream: late,
  },
  {
    name: 'late headers',
    does: 'sends its headers late, but within the deadline',
    upstream: {
      speaks: 'http',
      async answer(request) {
        await Bun.sleep(300);
        return ok(request, whole(request));
      },
    },
    json: answered(),
    stream: answered(),
  },
  {
    name: 'stale keep-alive socket',
    does: 'keeps a connection open, and resets it when the next request arrives on it',
    warm: true,
    upstream: bytes(async (connection, request) => {
      if (request.nth > 1) return connection.reset();
      const answer = [
        Buffer.from(head(request, 'transfer-encoding: chunked')),
        piece(whole(request)),
        Buffer.from(LAST_PIECE),
      ];
      await connection.write(Buffer.concat(answer));
    }),
    json: answeredAfter('connect'),
    stream: answeredAfter('connect'),
  },
  {
    name: '1xx',
    does: 'sends 100 and 103 before its answer',
    upstream: bytes(async (connection, request) => {
      await connection.write('HTTP/1.1 100 Continue\r\n\r\n');
      await connection.write(`HTTP/1.1 103 Early Hints\r\nlink: </${JUNK}>; rel=preload\r\n\r\n`);
      await send(connection, request, [whole(request)]);
    }),
    text: TEXT,
    json: answered(),
    stream: answered(),
  },
];
