/** The most bytes handed to the server at once: it copies and keeps the bytes that its socket does not take. */
const SLICE_BYTES = 65_536;
/** A character is 3 bytes at most. */
const SLICE = Math.floor(SLICE_BYTES / 3);

/** Cuts a text into slices of at most 64 KiB in UTF-8. */
export function slices(text: string): readonly string[] {
  if (text.length <= SLICE) return [text];
  const all: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = at + SLICE;
    const isSplit = end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
    const next = isSplit ? end - 1 : end;
    all.push(text.slice(at, next));
    at = next;
  }
  return all;
}
