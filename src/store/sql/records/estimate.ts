import type { Estimate } from '../../../core/decision/estimate.ts';
import type { ExplorationDraw } from '../../../core/decision/exploration.ts';
import type { DecisionRecord } from '../../../core/decision/record.ts';

/**
 * The format of an estimate is one little-endian BLOB: the version (1 byte), a bit for each part that follows (1), two empty bytes, and the
 * number of models (4). Scalars and qualities follow as doubles, then differences as floats. Qualities that no preference changed are left
 * out, because they can be derived. Draws, trust and the last four parts occur only in records of versions that learned from outcomes.
 */
const VERSION = 1;
const HEAD = 8;
/** The bit of each part, in the order in which parts are written. */
const PARTS = { estimate: 1, draw: 2, quality: 4, shadow: 8, outcomes: 16, text: 32, counts: 64 };
/** Parts that contain learned values. */
const LEARNED = PARTS.shadow | PARTS.outcomes | PARTS.text | PARTS.counts;
const NO_TRUST = 0;

/** Encodes an estimate of this version, which has no learned values. */
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
 * Decodes the bytes of `encodeEstimate`.
 * @param quality the qualities of the same record
 * @throws Error if the bytes are invalid
 */
export function decodeEstimate(
  bytes: Uint8Array | null,
  quality: Float64Array | null,
): { readonly estimate: Estimate | null; readonly draw: ExplorationDraw | null } {
  if (bytes === null) return { estimate: null, draw: null };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint8(0) !== VERSION) throw new Error(`records: an estimate of version ${view.getUint8(0)} is not known`);
  const parts = view.getUint8(1);
  const models = view.getUint32(4, true);
  let at = HEAD;
  const doubles = (n: number): Float64Array => {
    const list = new Float64Array(n);
    for (let i = 0; i < n; i++, at += 8) list[i] = view.getFloat64(at, true);
    return list;
  };
  const floats = (n: number): Float32Array => {
    const list = new Float32Array(n);
    for (let i = 0; i < n; i++, at += 4) list[i] = view.getFloat32(at, true);
    return list;
  };
  const has = (part: keyof typeof PARTS) => (parts & PARTS[part]) !== 0;
  const drawn = has('draw') ? doubles(2) : null;
  const draw = drawn && { probability: drawn[0]!, among: drawn[1]! };
  if (!has('estimate')) return { estimate: null, draw };
  const scalars = doubles(2);
  const [length, trust] = [scalars[0]!, scalars[1]!];
  // The parts of an estimate are read in the order in which they were written.
  const own = has('quality') ? doubles(models) : quality?.slice();
  if (own === undefined) throw new Error('records: an estimate lacks its qualities');
  const estimate = { quality: own, length };
  if (trust === NO_TRUST && (parts & LEARNED) === 0) return { estimate, draw };
  const shadow = has('shadow') ? doubles(models) : null;
  const floatsFor = (part: 'outcomes' | 'text' | 'counts') => (has(part) ? floats(models) : new Float32Array(models));
  const lists = { outcomes: floatsFor('outcomes'), text: floatsFor('text'), counts: floatsFor('counts') };
  return { estimate: { ...estimate, learned: { shadow, trust, ...lists } }, draw };
}

// A loop is used because it is fast, and this function runs for every request.
function isSame(one: Float64Array, other: Float64Array): boolean {
  if (one === other) return true;
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (!Object.is(one[i], other[i])) return false;
  return true;
}
