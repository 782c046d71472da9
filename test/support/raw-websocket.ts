import { connect, type RawConnection } from './raw-http.ts';
import type { Signalbox } from './signalbox.ts';

const UPGRADE = [
  'connection: Upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
];

/** A WebSocket whose frames a test writes itself, whole or not. */
export interface RawWebSocket {
  /** Of the answer to the upgrade: 101 where it is open. */
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  readonly connection: RawConnection;
}

/** Asks for a WebSocket of Responses. @param allowHalfOpen keeps this side open where the server has ended its own */
export async function upgrade(
  { url }: Pick<Signalbox, 'url'>,
  key: string,
  allowHalfOpen = false,
): Promise<RawWebSocket> {
  const connection = await connect(url, allowHalfOpen);
  await connection.write(upgradeHead(key));
  return { ...(await connection.response()), connection };
}

/** The head of a request for a WebSocket of Responses, up to the empty line. */
export function upgradeHead(key: string): string {
  const lines = ['GET /v1/responses HTTP/1.1', 'host: localhost', `authorization: Bearer ${key}`, ...UPGRADE];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** A masked text frame with a payload of so many bytes, of which all that are given follow. @param isLast of its message */
export function textFrame(payload: string, bytes = Buffer.byteLength(payload), isLast = true): Buffer {
  const head = Buffer.alloc(bytes < 126 ? 6 : bytes < 65_536 ? 8 : 14);
  head[0] = isLast ? 0x81 : 0x01;
  if (bytes < 126) head[1] = 0x80 | bytes;
  else if (bytes < 65_536) {
    head[1] = 0x80 | 126;
    head.writeUInt16BE(bytes, 2);
  } else {
    head[1] = 0x80 | 127;
    head.writeBigUInt64BE(BigInt(bytes), 2);
  }
  // The mask is zero: the payload stays as it is.
  return Buffer.concat([head, Buffer.from(payload)]);
}
