import { describe, expect, test } from 'bun:test';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { createLedgerId, ledgerIdOf, readLedgerId } from '../../src/server/ledger-id.ts';
import { LedgerNote, lostOf } from '../../src/server/ledger-note.ts';
import type { SpoolNotes } from '../../src/store/driver.ts';
import { HEADER_BYTES } from '../../src/store/spool/format.ts';
import { readSpool, Spool } from '../../src/store/spool/spool.ts';
import { effort } from '../deep/effort.ts';

/**
 * The test uses a spool and its note in `ledger.id` as real files. The test stops at each moment at which a process can die between two
 * writes. The database is a set that has everything once the spool was booked.
 */
const { runs, seed, proved } = effort('holes', 50, 10_000);

const FILE_BYTES = 1_048_576;
/** More bytes than any run here adds. */
const USED_BYTES_MAX = 8_192;
const NOON = Date.UTC(2026, 10, 23, 12);
const LOG = { info() {}, warn() {}, error() {} };
const spoolOf = (folder: string): string => join(folder, 'settlements.spool');
/** In memory if possible, because a sync to disk takes as long as a whole run. */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

type Step = 'add' | 'uncounted add' | 'drain' | 'restart';

/** What is on disk at a moment, and what callers know at that time. */
interface Moment {
  readonly spool: Buffer;
  readonly id: Buffer;
  readonly told: readonly number[];
  /** The entries that the note counts. */
  readonly counted: readonly number[];
  readonly booked: ReadonlySet<number>;
  /** The position of the entry that may be torn; null for none. */
  readonly newAt: number | null;
}

/** What happens to the spool before the next start. `nothing` and `torn` are effects of a crash; the others are damage. */
interface Harm {
  readonly kind: 'nothing' | 'torn' | 'gone' | 'older' | 'cut' | 'flip';
  /** The position of the damage, from 0 to 1. */
  readonly at: number;
}

/** The parts of a server that a mutant replaces. */
interface Parts {
  readonly lostOf: typeof lostOf;
  readonly note: (notes: SpoolNotes, ...args: Parameters<SpoolNotes['note']>) => void;
  /** Returns the generation that a new spool must follow. */
  readonly after: (found: number, notes: SpoolNotes) => number;
}

const SOUND: Parts = {
  lostOf,
  note: (notes, generation, entries) => notes.note(generation, entries),
  after: (found, { generation }) => Math.max(found, generation),
};

/** A server in a folder. */
class World {
  readonly moments: Moment[] = [];
  readonly #folder: string;
  readonly #parts: Parts;
  #spool: Spool;
  #told: readonly number[] = [];
  #counted: readonly number[] = [];
  #booked: ReadonlySet<number> = new Set();
  #newAt: number | null = null;
  #failsToCount = false;

  constructor(folder: string, parts: Parts) {
    this.#folder = folder;
    this.#parts = parts;
    createLedgerId(folder, { ledger: 'one', entry: 0, spool: null });
    this.#spool = this.#open();
  }

  play(step: Step): void {
    if (step === 'add' || step === 'uncounted add') this.#add(step === 'uncounted add');
    else {
      this.#booked = new Set(this.#told);
      if (step === 'drain') this.#spool.clear();
      else {
        this.#spool.close();
        this.#spool = this.#open();
      }
    }
    this.#take();
  }

  end(): void {
    this.#spool.close();
  }

  #add(failsToCount: boolean): void {
    this.#failsToCount = failsToCount;
    this.#newAt = endOf(usedBytesOf(this.#folder));
    this.#spool.add([[{ name: 'charge', params: [this.#told.length] }]]);
    this.#newAt = null;
    this.#told = [...this.#told, this.#told.length];
    if (!failsToCount) this.#counted = this.#told;
  }

  #open(): Spool {
    const own = new LedgerNote(this.#folder, () => NOON, LOG);
    const after = this.#parts.after(readSpool(spoolOf(this.#folder)).generation, own);
    const note: SpoolNotes['note'] = (generation, entries) => {
      if (this.moments.length > 0) this.#take();
      if (entries !== null && entries > 0 && this.#failsToCount) throw new Error('the disk reports an error');
      this.#parts.note(own, generation, entries);
      // An entry is on disk before it is counted.
      if (entries !== 0) this.#newAt = null;
      this.#take();
    };
    return Spool.create(spoolOf(this.#folder), after, { generation: 0, note });
  }

  #take(): void {
    this.moments.push({
      spool: usedBytesOf(this.#folder),
      id: readFileSync(ledgerIdOf(this.#folder)),
      told: this.#told,
      counted: this.#counted,
      booked: this.#booked,
      newAt: this.#newAt,
    });
  }
}

function usedBytesOf(folder: string): Buffer {
  const bytes = Buffer.alloc(USED_BYTES_MAX);
  const fd = openSync(spoolOf(folder), 'r');
  readSync(fd, bytes, 0, bytes.length, 0);
  closeSync(fd);
  return bytes;
}

const endOf = (spool: Buffer): number => Math.max(HEADER_BYTES, spool.findLastIndex((byte) => byte !== 0) + 1);

/** The spool after the damage; null if there is none. */
function harmed(moments: readonly Moment[], index: number, { kind, at }: Harm): Buffer | null {
  const { spool, newAt } = moments[index]!;
  const bytes = Buffer.from(spool);
  const end = endOf(bytes);
  const within = (from: number) => from + Math.floor(at * (end - from));
  if (kind === 'gone') return null;
  if (kind === 'older') return moments[Math.floor(at * (index + 1))]!.spool;
  if (kind === 'cut') return bytes.fill(0, within(HEADER_BYTES));
  if (kind === 'torn' && newAt !== null) return bytes.fill(0, within(newAt));
  if (kind === 'flip' && end > HEADER_BYTES) bytes[within(HEADER_BYTES)]! ^= 4;
  return bytes;
}

/** What a start books from the spool in a folder; null if the start is refused. */
function takenIn(folder: string, parts: Parts): ReadonlySet<number> | null {
  try {
    const found = readSpool(spoolOf(folder));
    const noted = readLedgerId(folder)?.spool ?? null;
    if (parts.lostOf('the spool', noted, { path: '', ...found }) !== null) return null;
    return new Set(found.units.flat().map(({ params }) => Number(params[0])));
  } catch {
    return null;
  }
}

/** A random position from 0 to 1. */
const anyPlace = fc.noBias(fc.nat(999)).map((one) => one / 1_000);
const anyHarm: fc.Arbitrary<Harm> = fc.record({
  kind: fc.constantFrom('nothing', 'torn', 'gone', 'older', 'cut', 'flip'),
  at: anyPlace,
});
const anySteps = fc.array(fc.constantFrom<Step>('add', 'add', 'add', 'uncounted add', 'drain', 'restart'), {
  minLength: 4,
  maxLength: 9,
});

const outcomes = { taken: 0, refused: 0 };

/**
 * Wherever a process dies, the next start books every price that callers have, and is not refused. If the spool is then missing, an older
 * copy or damaged, the start is refused or lacks no price.
 */
const lawOf = (parts: Parts) =>
  fc.property(anySteps, anyPlace, anyHarm, (steps, moment, harm) => {
    const folder = mkdtempSync(join(MEMORY, 'signalbox-spool-'));
    using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
    const world = new World(folder, parts);
    for (const step of steps) world.play(step);
    world.end();
    const { moments } = world;
    const index = Math.floor(moment * moments.length);
    const { id, told, counted, booked } = moments[index]!;
    const spool = harmed(moments, index, harm);
    writeFileSync(ledgerIdOf(folder), id);
    rmSync(spoolOf(folder));
    if (spool) {
      writeFileSync(spoolOf(folder), spool);
      truncateSync(spoolOf(folder), FILE_BYTES);
    }
    const taken = takenIn(folder, parts);
    outcomes[taken ? 'taken' : 'refused']++;
    const isCrash = harm.kind === 'nothing' || harm.kind === 'torn';
    if (isCrash) expect(taken).not.toBeNull();
    // The note has the generation of the spool, so a missing spool is noticed even if its entries could not be counted.
    const known = isCrash || harm.kind === 'gone' ? told : counted;
    if (taken) expect(known.filter((one) => !booked.has(one) && !taken.has(one))).toEqual([]);
  });

describe('a start', () => {
  test('a start books each price of the spool or is refused, whenever the process died and whatever happened to the spool', () => {
    outcomes.refused = 0;
    outcomes.taken = 0;
    fc.assert(lawOf(SOUND), { numRuns: runs, seed });
    expect(outcomes.refused).toBeGreaterThan(0);
    proved(
      `a spool and its note after a crash between two writes, or after the file was removed, replaced by an older one, cut or damaged: ${outcomes.taken} starts booked every price that callers had, ${outcomes.refused} were refused; no start was refused after a crash alone`,
    );
  });

  const blind: Parts = { ...SOUND, lostOf: () => null };
  const uncounting: Parts = {
    ...SOUND,
    note: (notes, generation, entries) => notes.note(generation, entries === null ? null : 0),
  };
  const late: Parts = {
    ...SOUND,
    note: (notes, generation, entries) => (entries === 0 ? undefined : notes.note(generation, entries)),
  };
  const beginning: Parts = { ...SOUND, after: () => 0 };
  const forgetful: Parts = { ...SOUND, note: (notes, generation) => notes.note(generation, null) };
  const exact: Parts = {
    ...SOUND,
    lostOf: (path, noted, found) =>
      noted?.since && found?.entries !== noted.entries ? 'another count' : lostOf(path, noted, found),
  };
  const strict: Parts = {
    ...SOUND,
    lostOf: (path, noted, found) =>
      noted?.since && found?.generation !== noted.generation ? 'another one' : lostOf(path, noted, found),
  };

  test.each([
    ['accepts any spool as the noted one', blind],
    ['notes that there are entries, but not how many', uncounting],
    ['notes a spool only with its first entry', late],
    ['gives each new file the first generation', beginning],
    ['notes every spool as empty', forgetful],
    ['requires exactly the noted number of entries', exact],
    ['requires exactly the noted generation', strict],
  ])('the law fails for a start that %s', (_, mutant) => {
    expect(fc.check(lawOf(mutant), { numRuns: 2_000, seed: 8, endOnFailure: true }).failed).toBe(true);
  });
});
