import { dlopen, type FFIFunction, type Library, type Pointer, ptr } from 'bun:ffi';
import { lazy } from '../../core/lazy.ts';

/**
 * The size of the receive buffer in bytes. The kernel doubles it, and it limits a single read. With this buffer, a stream reaches about 200
 * kB/s at a round trip of 150 ms. A smaller buffer would stall the loopback's packets of 64 KiB.
 */
const WINDOW = 24_576;
const POLLIN = 1;

interface SocketCalls {
  readonly setsockopt: (fd: number, level: number, option: number, value: Pointer, size: number) => number;
  readonly poll: (descriptors: Pointer, count: number, timeoutMs: number) => number;
}

const MUSL = `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`;
/** The names of the C library, and the values of SOL_SOCKET and SO_RCVBUF, by operating system. */
const SYSTEMS: Partial<Record<NodeJS.Platform, { libraries: string[]; level: number; option: number }>> = {
  linux: { libraries: ['libc.so.6', MUSL, 'libc.so'], level: 1, option: 8 },
  darwin: { libraries: ['libSystem.B.dylib'], level: 0xffff, option: 0x1002 },
};
const system = SYSTEMS[process.platform];
const window = new Int32Array([WINDOW]);
/** One `struct pollfd`: the descriptor, then two shorts for the requested and the returned events. */
const descriptor = new Int32Array(2);

/**
 * Limits a socket's receive buffer in the kernel. By default the kernel buffers several megabytes from a fast sender and Bun reads up to
 * 512 KiB at once, so each caller who stops reading would cost half a megabyte. `boundReceiveWindow` does nothing on systems without this
 * call.
 */
export function boundReceiveWindow(fd: number): void {
  const calls = socketCalls();
  if (calls && system && fd >= 0) calls.setsockopt(fd, system.level, system.option, ptr(window), 4);
}

/**
 * Returns whether unread bytes, or the end of the connection, have arrived at a socket. The event loop would report the bytes only in one
 * of its next turns. `hasArrived` returns false on systems without this call.
 */
export function hasArrived(fd: number): boolean {
  const calls = socketCalls();
  if (!calls || fd < 0) return false;
  descriptor[0] = fd;
  descriptor[1] = POLLIN;
  return calls.poll(ptr(descriptor), 1, 0) !== 0;
}

const socketCalls = lazy((): SocketCalls | null =>
  openLibc({
    setsockopt: { args: ['int', 'int', 'int', 'ptr', 'u32'], returns: 'int' },
    poll: { args: ['ptr', 'u64', 'int'], returns: 'int' },
  }),
);

/** Opens functions of the C library; returns null if no library with a known name exists. */
export function openLibc<Functions extends Record<string, FFIFunction>>(
  functions: Functions,
): Library<Functions>['symbols'] | null {
  for (const library of system?.libraries ?? []) {
    try {
      return dlopen(library, functions).symbols;
    } catch {
      // This library does not exist, so the loop tries the next name.
    }
  }
  return null;
}
