/**
 * The format of a spool file. The header, which is one sector long, contains the generation. Entries follow without gaps, and zeros follow
 * the entries. Each entry has a number counted from 0, the generation and a checksum. With these numbers, a reader recognizes entries of an
 * earlier generation, incomplete entries and damaged entries. Numbers are little-endian.
 *
 * Header: magic (8 bytes), generation (4), CRC-32 of both (4). Entry: magic (4), generation (4), number (4), length of the text in bytes
 * (4), CRC-32 of the generation, number, length and text (4), text.
 */
const MAGIC = Buffer.from('SBSPOOL1');
/** The magic of an entry begins with a byte that never occurs in UTF-8, so no text contains the magic. */
const ENTRY_MAGIC = Buffer.from([0xf5, 0x53, 0x42, 0x01]);
const ENTRY_HEAD_BYTES = 20;

/** The checksum function is not imported from `node:zlib`, because that module would also load the stream modules. */
const { crc32 } = Bun.hash;

/** The header is one sector long, because a disk writes a sector completely or not at all. */
export const HEADER_BYTES = 512;

export interface SpoolContent {
  readonly generation: number;
  /** The texts of the complete entries, in the order in which they were added. */
  readonly texts: readonly string[];
  /** Whether bytes that are not a complete entry follow: the last write was interrupted, or the bytes of the last write are damaged. */
  readonly isTorn: boolean;
}

export function encodeHeader(generation: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(header);
  header.writeUInt32LE(generation, 8);
  header.writeUInt32LE(crc32(header.subarray(0, 12)), 12);
  return header;
}

export function encodeEntry(generation: number, number: number, text: string): Buffer {
  const bytes = Buffer.byteLength(text);
  const entry = Buffer.alloc(ENTRY_HEAD_BYTES + bytes);
  ENTRY_MAGIC.copy(entry);
  entry.writeUInt32LE(generation, 4);
  entry.writeUInt32LE(number, 8);
  entry.writeUInt32LE(bytes, 12);
  entry.write(text, ENTRY_HEAD_BYTES);
  entry.writeUInt32LE(checksumOf(entry), 16);
  return entry;
}

/**
 * Reads a spool file. Throws an Error that names the damage if the header is damaged, or if a complete entry follows a damaged entry,
 * because such a damaged entry was complete when callers received their prices.
 */
export function decodeSpool(file: Buffer): SpoolContent {
  const generation = generationOf(file);
  const texts: string[] = [];
  let at = HEADER_BYTES;
  for (let entry = entryAt(file, at); isNext(entry, generation, texts.length); entry = entryAt(file, at)) {
    texts.push(entry.text);
    at = entry.end;
  }
  const rest = file.subarray(at);
  if (hasEntry(rest, generation, texts.length)) throw new Error(`its entry ${texts.length + 1} is damaged`);
  return { generation, texts, isTorn: !rest.equals(Buffer.alloc(rest.length)) };
}

function generationOf(file: Buffer): number {
  const isSound =
    file.length >= HEADER_BYTES &&
    MAGIC.equals(file.subarray(0, MAGIC.length)) &&
    crc32(file.subarray(0, 12)) === file.readUInt32LE(12);
  if (!isSound) throw new Error('its header is damaged');
  return file.readUInt32LE(8);
}

interface Entry {
  readonly generation: number;
  readonly number: number;
  readonly text: string;
  readonly end: number;
}

const isNext = (entry: Entry | null, generation: number, number: number): entry is Entry =>
  entry !== null && entry.generation === generation && entry.number === number;

/** Returns the entry at a position; null if no complete entry begins there. */
function entryAt(file: Buffer, at: number): Entry | null {
  if (file.length - at < ENTRY_HEAD_BYTES || !ENTRY_MAGIC.equals(file.subarray(at, at + 4))) return null;
  const end = at + ENTRY_HEAD_BYTES + file.readUInt32LE(at + 12);
  if (end > file.length) return null;
  const entry = file.subarray(at, end);
  if (checksumOf(entry) !== entry.readUInt32LE(16)) return null;
  const text = entry.toString('utf8', ENTRY_HEAD_BYTES);
  return { generation: entry.readUInt32LE(4), number: entry.readUInt32LE(8), text, end };
}

/** Whether a complete entry of this generation begins anywhere in the bytes, with this number or a greater one. */
function hasEntry(bytes: Buffer, generation: number, from: number): boolean {
  for (let at = bytes.indexOf(ENTRY_MAGIC); at >= 0; at = bytes.indexOf(ENTRY_MAGIC, at + 1)) {
    const entry = entryAt(bytes, at);
    if (entry && entry.generation === generation && entry.number >= from) return true;
  }
  return false;
}

const checksumOf = (entry: Buffer): number => crc32(entry.subarray(ENTRY_HEAD_BYTES), crc32(entry.subarray(4, 16)));
