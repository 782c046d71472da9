import { ptr } from 'bun:ffi';
import { readdirSync } from 'node:fs';
import { lazy } from '../core/lazy.ts';
import { openLibc } from '../providers/http1/socket-calls.ts';

/** Linux's numbers. */
const [SOL_SOCKET, SO_ATTACH_FILTER, SO_ACCEPTCONN, IPPROTO_TCP, TCP_NOTSENT_LOWAT] = [1, 26, 30, 6, 25] as const;
const FILES = '/proc/self/fd';
/** Larger than the address of any socket. */
const ADDRESS_BYTES = 128;
/** Bytes that wait in the kernel for each connection: two dozen large packets. */
const UNSENT_MAX = 16_384;

/**
 * Bounds what the kernel takes of answers and cannot send yet, on each connection to a port that this process listens on.
 * By default it takes up to 4 MB for a caller who does not read. The answer goes on for so long, and its writer keeps what
 * the end of the answer repeats. Bytes on their way to the caller are not counted, so a distant caller gets them as fast as before.
 * Does nothing on systems other than Linux.
 */
export function boundUnsentBytes(port: number): void {
  // Connections inherit the option.
  setOption(port, IPPROTO_TCP, TCP_NOTSENT_LOWAT, new Uint8Array(Int32Array.of(UNSENT_MAX).buffer));
}

const PROGRAM_BYTES = 16;

/** Drops the packet that asks for a connection: SYN without ACK. By instruction: code, the skips of a jump, operand. */
const DROP_SYN = [
  // The flags of TCP's header.
  [0x30, 0, 0, 13],
  [0x54, 0, 0, 0x12],
  [0x15, 0, 1, 0x02],
  [0x06, 0, 0, 0],
  [0x06, 0, 0, 0xffff_ffff],
] as const;

/**
 * Has the kernel pass over new connections to a port of this process, and complete those that have begun. The caller's system asks
 * again after a second; by then the socket must be closed, so that another process has it. Closing alone would reset connections
 * that the kernel has accepted and this process has not. Does nothing on systems other than Linux.
 */
export function passOverConnections(port: number): void {
  // A `struct sock_fprog`, the number of instructions and where they are, and the instructions behind it.
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

/** Sets an option of the sockets that this process listens on a port with. */
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
  // Bun does not tell the descriptor.
  for (const fd of readdirSync(FILES).map(Number).filter(isListening))
    libc.setsockopt(fd, level, option, ptr(value), size);
}
