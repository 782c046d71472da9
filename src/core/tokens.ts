/** Characters read of a long text: half from its head, half from its tail. */
const SAMPLE = 2_000;

/**
 * Expected tokens of a text under a typical byte-pair tokenizer, from its classes of characters:
 * a token is about 4 ASCII characters, 2 of other alphabets, 1 of Chinese, Japanese or Korean.
 * Long texts are sampled, so the time is bounded. An estimate: never charged, never a bound.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(tokenWeight(text));
}

/** The same, not rounded: for texts that come in pieces. */
export function tokenWeight(text: string): number {
  const { length } = text;
  if (length <= SAMPLE) return weigh(text, 0, length);
  const half = SAMPLE / 2;
  return ((weigh(text, 0, half) + weigh(text, length - half, length)) * length) / SAMPLE;
}

function weigh(text: string, from: number, to: number): number {
  let ascii = 0;
  let ideographs = 0;
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) ascii++;
    else if ((code >= 0x2e80 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7af)) ideographs++;
  }
  return ascii / 4 + ideographs + (to - from - ascii - ideographs) / 2;
}

const encoder = new TextEncoder();
/** Bytes go here to be counted and are never read. */
const scratch = new Uint8Array(65_536);

/** Bytes of a text in UTF-8: a byte-level tokenizer never makes more tokens than this. */
export function utf8Bytes(text: string): number {
  const { length } = text;
  if (length > 512) return encodedBytes(text);
  let bytes = length;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    if (code < 0x800) bytes += 1;
    else if (code >= 0xd800 && code < 0xdc00 && isLowSurrogate(text.charCodeAt(i + 1))) {
      bytes += 2;
      i++;
    } else bytes += 2;
  }
  return bytes;
}

/** Encodes piece by piece into the same memory: a whole copy of a long text costs several times as much. */
function encodedBytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; ) {
    const { read, written } = encoder.encodeInto(at === 0 ? text : text.slice(at), scratch);
    bytes += written;
    at += read;
  }
  return bytes;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}
