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

/** A file as a server leaves it: earlier generations were emptied, and may still be seen behind the last entries. */
interface Left {
  readonly file: Buffer;
  readonly texts: readonly string[];
  /** Where the last whole entry ends. */
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
    // What a lone surrogate becomes in UTF-8 is what comes back.
    const read = texts.map((text) => Buffer.from(text).toString());
    return { file, texts: read, end: HEADER_BYTES + now.length };
  });

type Decode = (file: Buffer) => SpoolContent;

/** Whatever one byte becomes, and wherever the file is cut: a prefix of the whole entries is read, or a sentence is thrown. */
function lawOf(decode: Decode) {
  const harm = fc.record({
    kind: fc.constantFrom('flip' as const, 'cut' as const),
    // Most of the header are zeros that mean nothing.
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
    // Only the last entry can be missing, and what stands in its place is told of; a cut takes what is behind it.
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
  test('are read as a prefix of the whole entries, or refused, whatever byte flips and wherever they end', () => {
    fc.assert(lawOf(decodeSpool), { numRuns: 2_000 });
  });

  /** Reads on where an entry is damaged. */
  const skipping: Decode = (file) => {
    const read = tried(() => decodeSpool(file));
    return read instanceof Error ? { generation: 0, texts: [], isTorn: true } : read;
  };
  /** Leaves the checksum alone. */
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
  /** Keeps silent of what is torn. */
  const silent: Decode = (file) => ({ ...decodeSpool(file), isTorn: false });

  test.each([
    ['takes a damaged file for an empty one', skipping],
    ['trusts lengths and texts', trusting],
    ['keeps silent of a damaged end', silent],
  ])('a reader that %s is found out', (_, mutant) => {
    expect(fc.check(lawOf(mutant), { numRuns: 2_000, endOnFailure: true }).failed).toBe(true);
  });
});

describe('a spool', () => {
  test('has what was added when it is read again, in order, and nothing once it was cleared', () => {
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

  test('of which there is none is empty', () => {
    using folder = tempFolder();
    const none = { generation: 0, entries: 0, units: [], isTorn: false };
    expect(readSpool(join(folder.path, 'settlements.spool'))).toEqual(none);
  });

  test('has its blocks before it needs them, for as many holds as were announced, and only its owner reads it', () => {
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

  test('that is full refuses, and keeps what it has', () => {
    using folder = tempFolder();
    const path = join(folder.path, 'settlements.spool');
    const spool = Spool.create(path);
    spool.add([unit(1)]);
    expect(() => spool.add([unit(2, 'x'.repeat(1_048_576))])).toThrow('the spool is full');
    spool.add([unit(3)]);
    expect(readSpool(path).units).toEqual([unit(1), unit(3)]);
    spool.close();
  });

  test('whose file is no longer in its place takes nothing: it would be lost', () => {
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

  test('is noted as in use before its first entry, counted after each, and noted as empty once it is, or is new', () => {
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

  test('takes nothing while it cannot be noted as in use, and keeps what could not be counted', () => {
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
    // It may be noted as in use: that must end, too.
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

  test('that is damaged is refused with a message that names the file and what to do', () => {
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
