import { dlopen, type FFIFunction, type Library, type Pointer, ptr } from 'bun:ffi';
import { lazy } from '../../core/lazy.ts';

/**
 * Requested bytes. The kernel doubles them, which bounds one read. At a round trip of 150 ms a stream still gets about
 * 200 kB/s; with less, the loopback's packets of 64 KiB would stall.
 */
const WINDOW = 24_576;
const POLLIN = 1;

interface SocketCalls {
  readonly setsockopt: (fd: number, level: number, option: number, value: Pointer, size: number) => number;
  readonly poll: (descriptors: Pointer, count: number, timeoutMs: number) => number;
}

const MUSL = `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`;
/** SOL_SOCKET, SO_RCVBUF and the C library's names. */
const SYSTEMS: Partial<Record<NodeJS.Platform, { libraries: string[]; level: number; option: number }>> = {
  linux: { libraries: ['libc.so.6', MUSL, 'libc.so'], level: 1, option: 8 },
  darwin: { libraries: ['libSystem.B.dylib'], level: 0xffff, option: 0x1002 },
};
const system = SYSTEMS[process.platform];
const window = new Int32Array([WINDOW]);
/** One `struct pollfd`: the descriptor, then two shorts, the events wanted and those found. */
const descriptor = new Int32Array(2);

/**
 * Bounds a socket's receive buffer in the kernel. By default the kernel buffers several megabytes from a fast sender
 * and Bun reads up to 512 KiB at once, so each caller who stops reading would cost half a megabyte. Does nothing on
 * systems without the call.
 */
export function boundReceiveWindow(fd: number): void {
  const calls = socketCalls();
  if (calls && system && fd >= 0) calls.setsockopt(fd, system.level, system.option, ptr(window), 4);
}

/**
 * Whether something has arrived at a socket that has not been read: bytes, or its end. The event loop would say so only
 * in its next turns. Returns false on systems without the call.
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

/** Opens functions of the C library; null where there is none of a known name. */
export function openLibc<Functions extends Record<string, FFIFunction>>(
  functions: Functions,
): Library<Functions>['symbols'] | null {
  for (const library of system?.libraries ?? []) {
    try {
      return dlopen(library, functions).symbols;
    } catch {
      // Try the next name.
    }
  }
  return null;
}
