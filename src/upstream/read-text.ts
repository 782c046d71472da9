/** A body's text; `cut` where it exceeded the limit. */
export interface BodyText {
  readonly text: string;
  readonly cut: boolean;
}

/** Bytes. A body that declares at most this length is read at once, which is cheaper. */
const SMALL = 65_536;

/**
 * Reads at most `bytesMax` of a body as text and cancels the rest. Does not decompress. Invalid UTF-8 becomes U+FFFD.
 * Rejects as the network does.
 *
 * @param reserveBytes called with the size of each piece before it is kept; false cancels the rest
 */
export async function readText(
  response: Response,
  bytesMax: number,
  reserveBytes: (bytes: number) => boolean = () => true,
): Promise<BodyText> {
  if (!response.body) return { text: '', cut: false };
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  if (length <= Math.min(bytesMax, SMALL) && reserveBytes(length)) return { text: await response.text(), cut: false };
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let left = bytesMax;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), cut: false };
    if (value.length > left || !reserveBytes(value.length)) {
      text += decoder.decode(value.subarray(0, left));
      await reader.cancel();
      return { text, cut: true };
    }
    left -= value.length;
    text += decoder.decode(value, { stream: true });
  }
}
