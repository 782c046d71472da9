import { ptr } from 'bun:ffi';
import { readdirSync } from 'node:fs';
import { lazy } from '../core/lazy.ts';
import { openLibc } from '../providers/http1/socket-calls.ts';

/** The numbers of these constants on Linux. */
const [SOL_SOCKET, SO_ATTACH_FILTER, SO_ACCEPTCONN, IPPROTO_TCP, TCP_NOTSENT_LOWAT] = [1, 26, 30, 6, 25] as const;
const FILES = '/proc/self/fd';
/** A number of bytes that is larger than the address of any socket. */
const ADDRESS_BYTES = 128;
/** The most bytes that wait in the kernel for each connection: about two dozen large packets. */
const UNSENT_MAX = 16_384;

/**
 * Limits the unsent bytes of answers that the kernel accepts, on each connection to a port of this process. By default the kernel accepts
 * up to 4 MB for a client that does not read. The provider's answer would then run on although no client reads it, and the server would
 * keep everything that the end of the answer repeats. Bytes that are already on their way are not counted, so a distant client is as fast
 * as before. `boundUnsentBytes` does nothing on systems other than Linux.
 */
export function boundUnsentBytes(port: number): void {
  // Accepted connections inherit this option from the listening socket.
  setOption(port, IPPROTO_TCP, TCP_NOTSENT_LOWAT, new Uint8Array(Int32Array.of(UNSENT_MAX).buffer));
}

const PROGRAM_BYTES = 16;

/**
 * A filter program that drops packets that request a connection (SYN without ACK). Each row of the filter is an instruction: its code, its
 * two jump offsets and its operand.
 */
const DROP_SYN = [
  // Loads the flags of the TCP header.
  [0x30, 0, 0, 13],
  [0x54, 0, 0, 0x12],
  [0x15, 0, 1, 0x02],
  [0x06, 0, 0, 0],
  [0x06, 0, 0, 0xffff_ffff],
] as const;

/**
 * Makes the kernel ignore new connections to a port of this process, and complete the connections that have begun. The client's system
 * repeats its request after a second. Before the client repeats its request, the server must close the socket, so that another process gets
 * the connection. Closing the socket without this filter would reset connections that the kernel has accepted and this process has not.
 * `passOverConnections` does nothing on systems other than Linux.
 */
export function passOverConnections(port: number): void {
  // A `struct sock_fprog` (the number of instructions and their address), followed by the instructions.
  const program = new DataView(new ArrayBuffer(PROGRAM_BYTES + DROP_SYN.length * 8));
  const bytes = new Uint8Array(program.buffer);
  program.setUint16(0, DROP_SYN.length, true);
  program.setBigUint64(8, BigInt(ptr(bytes) + PROGRAM_BYTES), true);
  for (const [i, [operation, ifTrue, ifFalse, operand]] of DROP_SYN.entries()) {
    const at = PROGRAM_BYTES + i * 8;
    program.setUint16(at, operation, true);
    program.setUint8(at + 2, ifTrue);
    program.setUint8(at + 3, ifFalse);
    program.setUint32(at + 4, operand, true);
  }
  setOption(port, SOL_SOCKET, SO_ATTACH_FILTER, bytes, PROGRAM_BYTES);
}

const socketCalls = lazy(() =>
  openLibc({
    getsockopt: { args: ['int', 'int', 'int', 'ptr', 'ptr'], returns: 'int' },
    getsockname: { args: ['int', 'ptr', 'ptr'], returns: 'int' },
    setsockopt: { args: ['int', 'int', 'int', 'ptr', 'u32'], returns: 'int' },
  }),
);

/** Sets an option on the sockets with which this process listens on a port. */
function setOption(port: number, level: number, option: number, value: Uint8Array, size = value.byteLength): void {
  if (process.platform !== 'linux') return;
  const libc = socketCalls();
  if (!libc) return;
  const flag = new Int32Array(1);
  const flagBytes = Int32Array.of(flag.byteLength);
  const address = new DataView(new ArrayBuffer(ADDRESS_BYTES));
  const isListening = (fd: number): boolean =>
    libc.getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, ptr(flag), ptr(flagBytes)) === 0 &&
    flag[0] === 1 &&
    libc.getsockname(fd, ptr(address), ptr(Int32Array.of(ADDRESS_BYTES))) === 0 &&
    address.getUint16(2) === port;
  // Bun does not expose the file descriptor of a listening socket, so the loop checks all open files.
  for (const fd of readdirSync(FILES).map(Number).filter(isListening))
    libc.setsockopt(fd, level, option, ptr(value), size);
}
