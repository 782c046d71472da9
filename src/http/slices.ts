/** The most bytes handed to the server at once: it copies and keeps the bytes that its socket does not take. */
const SLICE_BYTES = 65_536;
/** A character is 3 bytes at most. */
const SLICE = Math.floor(SLICE_BYTES / 3);

/** Returns where the slice of a text ends that begins at `at`: at most 64 KiB in UTF-8, and no character cut in two. */
export function sliceEnd(text: string, at: number): number {
  const end = at + SLICE;
  if (end >= text.length) return text.length;
  return (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end - 1 : end;
}
