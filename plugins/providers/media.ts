/** Media that the request itself contains. */
export interface InlineData {
  /** The type in lower case and without parameters, such as `image/png`. */
  readonly mediaType: string;
  readonly base64: string;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Returns the data of a base64 `data:` URL; null for anything else. */
export function inlineData(url: string): InlineData | null {
  const comma = url.indexOf(',');
  const head = /^data:([^;,]*)(?:;[^,]*)?;base64$/i.exec(url.slice(0, Math.max(0, comma)));
  const base64 = url.slice(comma + 1);
  if (!head || !BASE64.test(base64)) return null;
  return { mediaType: head[1]!.trim().toLowerCase() || 'text/plain', base64 };
}

/** Returns the bytes of base64 data; null if the data is invalid. */
export function bytesOf(base64: string): Uint8Array | null {
  try {
    return Uint8Array.fromBase64(base64);
  } catch {
    return null;
  }
}
