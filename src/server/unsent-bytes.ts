import { ptr } from 'bun:ffi';
import { readdirSync } from 'node:fs';
import { openLibc } from '../upstream/http1/socket-calls.ts';

/** Bytes that wait in the kernel for each connection: two dozen large packets. */
const UNSENT_MAX = 16_384;
/** Linux's numbers. */
const [SOL_SOCKET, SO_ACCEPTCONN, IPPROTO_TCP, TCP_NOTSENT_LOWAT] = [1, 30, 6, 25] as const;
const FILES = '/proc/self/fd';
/** Larger than the address of any socket. */
const ADDRESS_BYTES = 128;

/**
 * Bounds what the kernel takes of answers and cannot send yet, on each connection to a port that this process listens on.
 * By default it takes up to 4 MB for a caller who does not read. The answer goes on for so long, and its writer keeps what
 * the end of the answer repeats. Bytes on their way to the caller are not counted, so a distant caller gets them as fast as before.
 * Does nothing on systems other than Linux.
 */
export function boundUnsentBytes(port: number): void {
  if (process.platform !== 'linux') return;
  const libc = openLibc({
    getsockopt: { args: ['int', 'int', 'int', 'ptr', 'ptr'], returns: 'int' },
    getsockname: { args: ['int', 'ptr', 'ptr'], returns: 'int' },
    setsockopt: { args: ['int', 'int', 'int', 'ptr', 'u32'], returns: 'int' },
  });
  if (!libc) return;
  const flag = new Int32Array(1);
  const address = new Uint8Array(ADDRESS_BYTES);
  const isListening = (fd: number): boolean =>
    libc.getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, ptr(flag), ptr(new Int32Array([flag.byteLength]))) === 0 &&
    flag[0] === 1 &&
    libc.getsockname(fd, ptr(address), ptr(new Int32Array([ADDRESS_BYTES]))) === 0 &&
    new DataView(address.buffer).getUint16(2) === port;
  // Bun does not tell the descriptor. Connections inherit the option.
  for (const fd of readdirSync(FILES).map(Number).filter(isListening))
    libc.setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, ptr(new Int32Array([UNSENT_MAX])), flag.byteLength);
}
