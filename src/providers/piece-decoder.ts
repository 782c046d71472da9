const KEEPS_MARK = { ignoreBOM: true };
/** More bytes may follow. */
const UNFINISHED = { stream: true };
/** Decodes what ends with a whole character: it keeps nothing for the next piece. */
const shared = new TextDecoder('utf-8', KEEPS_MARK);

/**
 * Decodes UTF-8 that comes in pieces, with its byte order mark. Nearly all pieces of a stream end with a line: only a stream
 * that does not needs a decoder of its own, which takes a microsecond to make.
 */
export class PieceDecoder {
  #own: TextDecoder | null = null;

  decode(piece: Uint8Array): string {
    if (this.#own === null && piece[piece.length - 1]! < 0x80) return shared.decode(piece);
    this.#own ??= new TextDecoder('utf-8', KEEPS_MARK);
    return this.#own.decode(piece, UNFINISHED);
  }

  /** Returns what is left of an unfinished character. */
  end(): string {
    return this.#own?.decode() ?? '';
  }
}
