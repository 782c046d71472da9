import { dlopen, ptr } from 'bun:ffi';

const { symbols: libc } = dlopen('libc.so.6', {
  socket: { args: ['int', 'int', 'int'], returns: 'int' },
  setsockopt: { args: ['int', 'int', 'int', 'ptr', 'u32'], returns: 'int' },
  connect: { args: ['int', 'ptr', 'u32'], returns: 'int' },
  recv: { args: ['int', 'ptr', 'u64', 'int'], returns: 'i64' },
  send: { args: ['int', 'ptr', 'u64', 'int'], returns: 'i64' },
  close: { args: ['int'], returns: 'int' },
});
/** Linux uses these values. */
const [MSG_DONTWAIT, MSG_NOSIGNAL] = [0x40, 0x4000];
const [AF_INET, SOCK_STREAM, SOL_SOCKET, SO_RCVBUF, IPPROTO_TCP, TCP_MAXSEG] = [2, 1, 1, 8, 6, 2];
/**
 * The smallest receive window, bytes; segments have the size of an Ethernet packet. With the loopback's own segments, a kernel buffers
 * megabytes.
 */
const WINDOW = 4_096;
const SEGMENT = 1_400;

export interface DeafCaller {
  /** Sends more bytes. @returns false once the connection is closed */
  send(bytes: Uint8Array): boolean;
  /** Reads at most this many bytes from the kernel's buffer. @returns the number of bytes; 0 or less if there are none */
  read(bytes: number): number;
  hangUp(): void;
}

/**
 * A client on 127.0.0.1 that sends a request and then reads nothing. The client's kernel buffers almost nothing, so the answer stays with
 * the server. Linux only. The function throws if it cannot connect.
 */
export function startDeafCaller(port: number, request: string): DeafCaller {
  const fd = libc.socket(AF_INET, SOCK_STREAM, 0);
  const set = (level: number, option: number, value: number) =>
    libc.setsockopt(fd, level, option, ptr(new Int32Array([value])), 4);
  // Set the window before connecting: a window that was once offered cannot shrink.
  set(SOL_SOCKET, SO_RCVBUF, WINDOW);
  set(IPPROTO_TCP, TCP_MAXSEG, SEGMENT);
  const address = Buffer.alloc(16);
  address.writeUInt16LE(AF_INET, 0);
  address.writeUInt16BE(port, 2);
  address.set([127, 0, 0, 1], 4);
  const send = (bytes: Uint8Array) => libc.send(fd, ptr(bytes), bytes.length, MSG_NOSIGNAL) > 0;
  if (libc.connect(fd, ptr(address), address.length) !== 0 || !send(Buffer.from(request))) {
    libc.close(fd);
    throw new Error('no connection');
  }
  const read = (bytes: number) => Number(libc.recv(fd, ptr(new Uint8Array(bytes)), bytes, MSG_DONTWAIT));
  return { send, read, hangUp: () => void libc.close(fd) };
}
