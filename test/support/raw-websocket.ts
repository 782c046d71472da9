import { connect, type RawConnection } from './raw-http.ts';
import type { Signalbox } from './signalbox.ts';

const UPGRADE = [
  'connection: Upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
];

/** A WebSocket whose frames the test writes itself, complete or not. */
export interface RawWebSocket {
  /** The status of the answer to the upgrade: 101 if the socket is open. */
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  readonly connection: RawConnection;
}

/** Requests a WebSocket for Responses. @param allowHalfOpen keeps this side open after the server has ended its own */
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

/**
 * A masked text frame that announces a payload of `bytes`, followed by the given payload. @param isLast whether the frame ends its message
 */
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
  // The mask is zero, so the payload is unchanged.
  return Buffer.concat([head, Buffer.from(payload)]);
}
