const KEEPS_MARK = { ignoreBOM: true };
/** Tells the decoder that more bytes may follow. */
const UNFINISHED = { stream: true };
/** Decodes pieces that end with a complete character, so that it keeps nothing for the next piece. */
const shared = new TextDecoder('utf-8', KEEPS_MARK);

/**
 * Decodes UTF-8 that arrives in pieces, and keeps a byte order mark. Nearly all pieces of a stream end with a line. Only a stream whose
 * pieces end within a line needs a decoder of its own, which takes a microsecond to create.
 */
export class PieceDecoder {
  #own: TextDecoder | null = null;

  decode(piece: Uint8Array): string {
    if (this.#own === null && piece[piece.length - 1]! < 0x80) return shared.decode(piece);
    this.#own ??= new TextDecoder('utf-8', KEEPS_MARK);
    return this.#own.decode(piece, UNFINISHED);
  }

  /** Returns the rest of an unfinished character. */
  end(): string {
    return this.#own?.decode() ?? '';
  }
}
