import { dlopen, ptr } from 'bun:ffi';

const { symbols: libc } = dlopen('libc.so.6', {
  socket: { args: ['int', 'int', 'int'], returns: 'int' },
  setsockopt: { args: ['int', 'int', 'int', 'ptr', 'u32'], returns: 'int' },
  connect: { args: ['int', 'ptr', 'u32'], returns: 'int' },
  recv: { args: ['int', 'ptr', 'u64', 'int'], returns: 'i64' },
  send: { args: ['int', 'ptr', 'u64', 'int'], returns: 'i64' },
  close: { args: ['int'], returns: 'int' },
});
/** Linux's numbers. */
const [MSG_DONTWAIT, MSG_NOSIGNAL] = [0x40, 0x4000];
const [AF_INET, SOCK_STREAM, SOL_SOCKET, SO_RCVBUF, IPPROTO_TCP, TCP_MAXSEG] = [2, 1, 1, 8, 6, 2];
/** Bytes: the least receive window, and the segments of an Ethernet. On the loopback's own, a kernel takes in megabytes. */
const WINDOW = 4_096;
const SEGMENT = 1_400;

export interface DeafCaller {
  /** Sends more. @returns false once the connection is gone */
  send(bytes: Uint8Array): boolean;
  /** Reads what its kernel has, at most so many bytes. @returns their number; 0 or less for none */
  read(bytes: number): number;
  hangUp(): void;
}

/**
 * A caller on 127.0.0.1 that sends a request and reads nothing, and whose kernel takes in next to nothing for it: so what
 * is sent stays where it comes from. Linux alone. Throws where there is no connection.
 */
export function startDeafCaller(port: number, request: string): DeafCaller {
  const fd = libc.socket(AF_INET, SOCK_STREAM, 0);
  const set = (level: number, option: number, value: number) =>
    libc.setsockopt(fd, level, option, ptr(new Int32Array([value])), 4);
  // Before it connects: what was once offered is not taken back.
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
