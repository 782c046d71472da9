/** Media inside a request. */
export interface InlineData {
  /** Lower case, without parameters: `image/png`. */
  readonly mediaType: string;
  readonly base64: string;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The data of a base64 `data:` URL; null for anything else. */
export function inlineData(url: string): InlineData | null {
  const comma = url.indexOf(',');
  const head = /^data:([^;,]*)(?:;[^,]*)?;base64$/i.exec(url.slice(0, Math.max(0, comma)));
  const base64 = url.slice(comma + 1);
  if (!head || !BASE64.test(base64)) return null;
  return { mediaType: head[1]!.trim().toLowerCase() || 'text/plain', base64 };
}

/** The bytes of base64; null if invalid. */
export function bytesOf(base64: string): Uint8Array | null {
  try {
    return Uint8Array.fromBase64(base64);
  } catch {
    return null;
  }
}
