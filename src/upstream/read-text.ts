/** How a body's text ended: whole, or cut at the limit. */
export interface BodyText {
  readonly text: string;
  readonly cut: boolean;
}

/**
 * Reads a body as text, at most `bytesMax` of it once decompressed; the rest is cancelled. Invalid
 * UTF-8 becomes U+FFFD. Rejects as the network does.
 */
export async function readText(response: Response, bytesMax: number): Promise<BodyText> {
  const length = response.headers.get('content-length');
  // A stated length bounds the text only where nothing is decompressed.
  const stated = length !== null && Number(length) <= bytesMax && !response.headers.has('content-encoding');
  if (stated || !response.body) return { text: await response.text(), cut: false };
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let left = bytesMax;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), cut: false };
    if (value.length > left) {
      text += decoder.decode(value.subarray(0, left));
      await reader.cancel();
      return { text, cut: true };
    }
    left -= value.length;
    text += decoder.decode(value, { stream: true });
  }
}
