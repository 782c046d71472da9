import type { Estimate } from '../../../core/decision/estimate.ts';
import type { DecisionRecord } from '../../../core/decision/record.ts';

/**
 * The format of an estimate is one little-endian BLOB: the version (1 byte), a bit for each part that follows (1), two empty bytes, and the
 * number of models (4). The correction by the length of the question and the trust follow as doubles, then the qualities as doubles.
 * Qualities that no preference changed are left out, because they can be derived. Version 0.1 also stored random draws, trust above 0 and
 * learned qualities, which are not read.
 */
const VERSION = 1;
const HEAD = 8;
/** The bit of each part that this version writes. Version 0.1 used all bits. */
const PARTS = { estimate: 1, quality: 4 };
const NO_TRUST = 0;

/** Encodes an estimate. */
export function encodeEstimate({ length, quality: own }: Estimate, quality: DecisionRecord['quality']): Uint8Array {
  const isOwn = quality === null || !isSame(own, quality);
  const doubles = isOwn ? [length, NO_TRUST, ...own] : [length, NO_TRUST];
  const view = new DataView(new ArrayBuffer(HEAD + 8 * doubles.length));
  view.setUint8(0, VERSION);
  view.setUint8(1, PARTS.estimate | (isOwn ? PARTS.quality : 0));
  view.setUint32(4, own.length, true);
  for (let i = 0; i < doubles.length; i++) view.setFloat64(HEAD + 8 * i, doubles[i]!, true);
  return new Uint8Array(view.buffer);
}

/**
 * Decodes the bytes of `encodeEstimate`, or recognizes that version 0.1 learned or drew at random.
 * @param quality the qualities of the same record
 * @throws Error if the bytes are invalid
 */
export function decodeEstimate(
  bytes: Uint8Array | null,
  quality: Float64Array | null,
): Pick<DecisionRecord, 'estimate' | 'isOfLearning'> {
  if (bytes === null) return { estimate: null };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint8(0) !== VERSION) throw new Error(`records: an estimate of version ${view.getUint8(0)} is not known`);
  const parts = view.getUint8(1);
  const double = (at: number): number => view.getFloat64(HEAD + 8 * at, true);
  const isPlain = (parts & ~PARTS.quality) === PARTS.estimate;
  if (!isPlain || double(1) !== NO_TRUST) return { estimate: null, isOfLearning: true };
  if ((parts & PARTS.quality) !== 0) {
    const own = Float64Array.from({ length: view.getUint32(4, true) }, (_, at) => double(2 + at));
    return { estimate: { quality: own, length: double(0) } };
  }
  if (quality === null) throw new Error('records: an estimate lacks its qualities');
  return { estimate: { quality: quality.slice(), length: double(0) } };
}

// A loop is used because it is fast, and this function runs for every request.
function isSame(one: Float64Array, other: Float64Array): boolean {
  if (one === other) return true;
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (!Object.is(one[i], other[i])) return false;
  return true;
}
