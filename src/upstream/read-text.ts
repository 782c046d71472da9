/** How a body's text ended: whole, or cut at the limit. */
export interface BodyText {
  readonly text: string;
  readonly cut: boolean;
}

/** A body of a stated length up to this is read at once, for that is cheaper, bytes. */
const SMALL = 65_536;

/**
 * Reads a body as text, at most `bytesMax` of it; the rest is cancelled. Nothing is decompressed. Invalid UTF-8 becomes
 * U+FFFD. Rejects as the network does.
 *
 * @param makeRoom Asked for each piece before it is kept, in bytes; false has the rest cancelled, too.
 */
export async function readText(
  response: Response,
  bytesMax: number,
  makeRoom: (bytes: number) => boolean = () => true,
): Promise<BodyText> {
  if (!response.body) return { text: '', cut: false };
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  if (length <= Math.min(bytesMax, SMALL) && makeRoom(length)) return { text: await response.text(), cut: false };
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let left = bytesMax;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), cut: false };
    if (value.length > left || !makeRoom(value.length)) {
      text += decoder.decode(value.subarray(0, left));
      await reader.cancel();
      return { text, cut: true };
    }
    left -= value.length;
    text += decoder.decode(value, { stream: true });
  }
}
