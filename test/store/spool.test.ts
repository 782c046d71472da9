import { describe, expect, test } from 'bun:test';
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { SpoolNotes } from '../../src/store/driver.ts';
import {
  decodeSpool,
  encodeEntry,
  encodeHeader,
  HEADER_BYTES,
  type SpoolContent,
} from '../../src/store/spool/format.ts';
import { readSpool, Spool, type SpooledUnit } from '../../src/store/spool/spool.ts';
import { tempFolder } from './support.ts';

const unit = (id: number, text = 'a row'): SpooledUnit => [{ name: 'charge', params: [id, text, null] }];

/** A file as a server leaves it. Entries of earlier generations may still follow the last entry. */
interface Left {
  readonly file: Buffer;
  readonly texts: readonly string[];
  /** The position where the last complete entry ends. */
  readonly end: number;
}

const anyText = fc.string({ unit: 'binary', maxLength: 40 });
const left: fc.Arbitrary<Left> = fc
  .record({
    generation: fc.integer({ min: 1, max: 0xffff_ffff }),
    texts: fc.array(anyText, { maxLength: 6 }),
    stale: fc.array(anyText, { maxLength: 6 }),
    zeros: fc.nat(200),
    isErased: fc.boolean(),
  })
  .map(({ generation, texts, stale, zeros, isErased }) => {
    const entries = texts.map((text, at) => encodeEntry(generation, at, text));
    const before = Buffer.concat(stale.map((text, at) => encodeEntry(generation - 1, at, text)));
    const now = Buffer.concat(entries);
    const rest = isErased ? Buffer.alloc(before.length) : before.subarray(Math.min(now.length, before.length));
    const file = Buffer.concat([encodeHeader(generation), now, rest, Buffer.alloc(zeros)]);
    // UTF-8 cannot encode a lone surrogate, so the expected text contains its replacement.
    const read = texts.map((text) => Buffer.from(text).toString());
    return { file, texts: read, end: HEADER_BYTES + now.length };
  });

type Decode = (file: Buffer) => SpoolContent;

/**
 * The law: if a byte changes or the file is cut anywhere, the reader returns a prefix of the complete entries, or throws an error with a
 * sentence.
 */
function lawOf(decode: Decode) {
  const harm = fc.record({
    kind: fc.constantFrom('flip' as const, 'cut' as const),
    // The header is chosen seldom, because most of it consists of zeros that have no meaning.
    isHeader: fc.nat(9).map((one) => one === 0),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    bit: fc.nat(7),
  });
  return fc.property(left, harm, ({ file, texts, end }, { kind, isHeader, at, bit }) => {
    expect(decode(file).texts).toEqual(texts);
    const place = isHeader ? Math.floor(at * 16) : HEADER_BYTES + Math.floor(at * (end - HEADER_BYTES));
    if (place >= file.length) return;
    const harmed = Buffer.from(kind === 'cut' ? file.subarray(0, place) : file);
    if (kind === 'flip') harmed[place] = harmed[place]! ^ (1 << bit);
    const read = tried(() => decode(harmed));
    if (read instanceof Error) {
      expect(read.message).toMatch(/^its (header|entry \d+) is damaged$/);
      return;
    }
    expect(read.texts).toEqual(texts.slice(0, read.texts.length));
    // Only the last entry can be missing, and the reader reports the bytes in its place. A cut also removes everything after it.
    if (kind === 'flip' && place < HEADER_BYTES) expect(read.texts).toEqual(texts);
    else if (kind === 'flip' && place < end) {
      expect(read.texts.length).toBe(texts.length - 1);
      expect(read.isTorn).toBe(true);
    }
  });
}

function tried<T>(work: () => T): T | Error {
  try {
    return work();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

describe('the bytes of a spool', () => {
  test('after any byte flips or the file is cut, a reader returns a prefix of the complete entries or refuses the file', () => {
    fc.assert(lawOf(decodeSpool), { numRuns: 2_000 });
  });

  /** This faulty reader continues after a damaged entry. */
  const skipping: Decode = (file) => {
    const read = tried(() => decodeSpool(file));
    return read instanceof Error ? { generation: 0, texts: [], isTorn: true } : read;
  };
  /** This faulty reader ignores the checksum. */
  const trusting: Decode = (file) => {
    const texts: string[] = [];
    let at = HEADER_BYTES;
    while (at + 20 <= file.length && file[at] === 0xf5) {
      const end = at + 20 + file.readUInt32LE(at + 12);
      texts.push(file.toString('utf8', at + 20, end));
      at = end;
    }
    return { generation: file.length >= 12 ? file.readUInt32LE(8) : 0, texts, isTorn: false };
  };
  /** This faulty reader does not report an incomplete entry. */
  const silent: Decode = (file) => ({ ...decodeSpool(file), isTorn: false });

  test.each([
    ['takes a damaged file for an empty one', skipping],
    ['trusts lengths and texts', trusting],
    ['does not report a damaged end', silent],
  ])('the law detects a reader that %s', (_, mutant) => {
    expect(fc.check(lawOf(mutant), { numRuns: 2_000, endOnFailure: true }).failed).toBe(true);
  });
});

describe('a spool', () => {
  test('a spool returns its entries in order when it is read, and nothing after it was cleared', () => {
    using folder = tempFolder();
    const path = join(folder.path, 'settlements.spool');
    const spool = Spool.create(path);
    spool.add([unit(1), unit(2)]);
    spool.add([unit(3, 'ü\ud800"')]);
    const units = [unit(1), unit(2), unit(3, 'ü\ud800"')];
    expect(readSpool(path)).toEqual({ generation: 1, entries: 2, units, isTorn: false });
    spool.clear();
    expect(readSpool(path)).toEqual({ generation: 2, entries: 0, units: [], isTorn: false });
    spool.add([unit(4)]);
    expect(readSpool(path)).toEqual({ generation: 2, entries: 1, units: [unit(4)], isTorn: false });
    spool.close();
  });

  test('a spool that does not exist is empty', () => {
    using folder = tempFolder();
    const none = { generation: 0, entries: 0, units: [], isTorn: false };
    expect(readSpool(join(folder.path, 'settlements.spool'))).toEqual(none);
  });

  test('a spool allocates its blocks in advance for the announced number of holds, and only its owner can read it', () => {
    using folder = tempFolder();
    const path = join(folder.path, 'settlements.spool');
    const spool = Spool.create(path);
    const blocks = () => statSync(path).blocks * 512;
    expect(blocks()).toBeGreaterThanOrEqual(1_048_576);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    spool.makeRoom(1_000);
    const room = blocks();
    expect(room).toBeGreaterThan(4_000_000);
    spool.add(Array.from({ length: 1_000 }, (_, id) => unit(id, 'x'.repeat(3_900))));
    expect(blocks()).toBe(room);
    expect(readSpool(path).units).toHaveLength(1_000);
    spool.close();
  });

  test('a full spool refuses an entry and keeps what it has', () => {
    using folder = tempFolder();
    const path = join(folder.path, 'settlements.spool');
    const spool = Spool.create(path);
    spool.add([unit(1)]);
    expect(() => spool.add([unit(2, 'x'.repeat(1_048_576))])).toThrow('the spool is full');
    spool.add([unit(3)]);
    expect(readSpool(path).units).toEqual([unit(1), unit(3)]);
    spool.close();
  });

  test('a spool whose file was moved or replaced refuses entries, which would be lost', () => {
    using folder = tempFolder();
    const path = join(folder.path, 'settlements.spool');
    const spool = Spool.create(path);
    const next = Spool.create(path);
    expect(() => spool.add([unit(1)])).toThrow('its file is gone or was replaced');
    next.add([unit(2)]);
    renameSync(path, `${path}.away`);
    expect(() => next.add([unit(3)])).toThrow('its file is gone or was replaced');
    expect(readSpool(`${path}.away`).units).toEqual([unit(2)]);
    spool.close();
    next.close();
  });

  test('the notes say that a spool is in use before its first entry, count each entry, and say empty after it is emptied or created', () => {
    using folder = tempFolder();
    const path = join(folder.path, 'settlements.spool');
    const noted: unknown[] = [];
    const notes: SpoolNotes = {
      generation: 6,
      note: (...of) => void noted.push([...of, readSpool(path).generation, readSpool(path).entries]),
    };
    const taken = () => noted.splice(0);
    const spool = Spool.create(path, 4, notes);
    expect(taken()).toEqual([[7, null, 7, 0]]);
    spool.clear();
    expect(taken()).toEqual([]);
    spool.add([unit(1)]);
    spool.add([unit(2), unit(3)]);
    expect(taken()).toEqual([
      [7, 0, 7, 0],
      [7, 1, 7, 1],
      [7, 2, 7, 2],
    ]);
    spool.clear();
    expect(taken()).toEqual([[8, null, 8, 0]]);
    spool.close();
    Spool.create(path, 8, notes).close();
    expect(taken()).toEqual([[9, null, 9, 0]]);
  });

  test('a spool refuses entries while it cannot be noted as in use, and keeps an entry that could not be counted', () => {
    using folder = tempFolder();
    const path = join(folder.path, 'settlements.spool');
    let fails = true;
    const notes: SpoolNotes = {
      generation: 0,
      note() {
        if (fails) throw new Error('the disk reports an error');
      },
    };
    const spool = Spool.create(path, 0, notes);
    expect(() => spool.add([unit(1)])).toThrow('the spool cannot be written: the disk reports an error');
    expect(readSpool(path).entries).toBe(0);
    // The note may say that the spool is in use, so clearing must correct it, too.
    spool.clear();
    expect(readSpool(path).generation).toBe(2);
    fails = false;
    spool.add([unit(2)]);
    fails = true;
    spool.add([unit(3)]);
    expect(readSpool(path).units).toEqual([unit(2), unit(3)]);
    spool.clear();
    expect(readSpool(path)).toMatchObject({ generation: 3, entries: 0 });
    spool.close();
  });

  test('a damaged spool is refused with a message that names the file and the remedy', () => {
    using folder = tempFolder();
    const path = join(folder.path, 'settlements.spool');
    const spool = Spool.create(path);
    for (const id of [1, 2, 3]) spool.add([unit(id)]);
    spool.close();
    const file = readFileSync(path);
    file[HEADER_BYTES + 30] = file[HEADER_BYTES + 30]! ^ 4;
    writeFileSync(path, file);
    expect(() => readSpool(path)).toThrow(`Cannot read ${path}: its entry 1 is damaged. The file has settlements`);
  });
});
