import type { UpstreamReply } from './reply.ts';

/** A body's text; `cut` where it exceeded the limit. */
export interface BodyText {
  readonly text: string;
  readonly cut: boolean;
}

/**
 * Reads at most `bytesMax` of a body as text and cancels the rest. Does not decompress. Invalid UTF-8 becomes U+FFFD.
 * Rejects as the network does.
 *
 * @param reserveBytes called with the size of each piece before it is kept; false cancels the rest
 */
export async function readText(
  reply: UpstreamReply,
  bytesMax: number,
  reserveBytes: (bytes: number) => boolean = () => true,
): Promise<BodyText> {
  const decoder = new TextDecoder();
  let text = '';
  let left = bytesMax;
  for (;;) {
    const read = reply.read();
    const piece = read instanceof Promise ? await read : read;
    if (piece === null) return { text: text + decoder.decode(), cut: false };
    if (piece.length > left || !reserveBytes(piece.length)) {
      text += decoder.decode(piece.subarray(0, left));
      reply.cancel();
      return { text, cut: true };
    }
    left -= piece.length;
    text += decoder.decode(piece, { stream: true });
  }
}
