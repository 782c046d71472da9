import { arrived } from './arrival.ts';
import type { UpstreamReply } from './reply.ts';
import { AMPLE_ROOM, type AnswerRoom } from './upstream-call.ts';

/** Decodes bodies that arrived in one piece. */
const wholeDecoder = new TextDecoder();

/** Reads at most `bytesMax` bytes of a body as text and cancels the rest. */
export function readText(reply: UpstreamReply, bytesMax: number): Promise<string> {
  const reading = new TextReading(reply, bytesMax);
  return arrived(() => reading.read());
}

/** Reads a body as text. Invalid UTF-8 in a body becomes U+FFFD. */
export class TextReading {
  /** Whether the body exceeded its limit, so that the text is only its start. */
  isCut = false;
  readonly #reply: UpstreamReply;
  readonly #room: AnswerRoom;
  #left: number;
  /** The first piece, until another one arrives. */
  #first: Uint8Array | null = null;
  #decoder: TextDecoder | null = null;
  #text = '';

  /**
   * @param bytesMax the maximum number of bytes; the rest is cancelled
   * @param room called with the size of each piece before the piece is kept; if it returns false, the rest is cancelled
   */
  constructor(reply: UpstreamReply, bytesMax: number, room: AnswerRoom = AMPLE_ROOM) {
    this.#reply = reply;
    this.#left = bytesMax;
    this.#room = room;
  }

  /**
   * Returns the whole text. Until the whole body has arrived, returns a promise; call `read` again when the promise resolves. `read` throws
   * the errors of the network.
   */
  read(): string | Promise<void> {
    for (;;) {
      const piece = this.#reply.read();
      if (piece instanceof Promise) return piece;
      if (piece === null) return this.#end();
      if (piece.length > this.#left || !this.#room.makeRoom(piece.length)) {
        this.#add(piece.subarray(0, this.#left));
        this.#reply.cancel();
        this.isCut = true;
        return this.#end();
      }
      this.#left -= piece.length;
      this.#add(piece);
    }
  }

  #add(piece: Uint8Array): void {
    if (!this.#first && !this.#decoder) {
      this.#first = piece;
      return;
    }
    this.#decoder ??= new TextDecoder();
    if (this.#first) this.#text = this.#decoder.decode(this.#first, { stream: true });
    this.#first = null;
    this.#text += this.#decoder.decode(piece, { stream: true });
  }

  #end(): string {
    if (this.#first) return wholeDecoder.decode(this.#first);
    return this.#text + (this.#decoder?.decode() ?? '');
  }
}
