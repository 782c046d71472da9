import type { DecisionRecord } from '../../../core/decision-record.ts';
import type { Estimate, ExplorationDraw } from '../../../core/estimate.ts';

type EstimateFields = Pick<DecisionRecord, 'estimate' | 'draw' | 'quality'>;

/**
 * One BLOB, little endian: the version, a bit for each part that follows, two empty bytes, the number of models in
 * four; then the scalars and qualities as doubles, then the differences as floats. Omits what is derivable: qualities
 * that no preference changed, and lists of zeros.
 */
const VERSION = 1;
const HEAD = 8;
/** In the order of writing. */
const FLOATS = ['outcomes', 'text', 'counts'] as const;
const PARTS = { estimate: 1, draw: 2, quality: 4, shadow: 8, outcomes: 16, text: 32, counts: 64 };

/** Encodes an estimate and a draw, of which there is one at least. */
export function encodeEstimate({ estimate, draw, quality }: EstimateFields): Uint8Array {
  const doubles: ArrayLike<number>[] = [];
  const floats: Float32Array[] = [];
  let parts = 0;
  if (draw !== null) {
    parts |= PARTS.draw;
    doubles.push([draw.probability, draw.among]);
  }
  if (estimate !== null) {
    parts |= PARTS.estimate;
    doubles.push([estimate.length, estimate.trust]);
    if (quality === null || !isSame(estimate.quality, quality)) {
      parts |= PARTS.quality;
      doubles.push(estimate.quality);
    }
    if (estimate.shadow !== null) {
      parts |= PARTS.shadow;
      doubles.push(estimate.shadow);
    }
    for (const part of FLOATS) {
      if (isZero(estimate[part])) continue;
      parts |= PARTS[part];
      floats.push(estimate[part]);
    }
  }
  return writeBlob(parts, estimate?.quality.length ?? 0, doubles, floats);
}

function writeBlob(
  parts: number,
  models: number,
  doubles: readonly ArrayLike<number>[],
  floats: readonly Float32Array[],
): Uint8Array {
  let size = HEAD;
  for (const { length } of doubles) size += 8 * length;
  for (const { length } of floats) size += 4 * length;
  const view = new DataView(new ArrayBuffer(size));
  view.setUint8(0, VERSION);
  view.setUint8(1, parts);
  view.setUint32(4, models, true);
  let at = HEAD;
  for (const list of doubles) {
    for (let i = 0; i < list.length; i++, at += 8) view.setFloat64(at, list[i]!, true);
  }
  for (const list of floats) {
    for (let i = 0; i < list.length; i++, at += 4) view.setFloat32(at, list[i]!, true);
  }
  return new Uint8Array(view.buffer);
}

/**
 * Decodes the bytes of `encodeEstimate`.
 * @param quality the qualities of the same record
 * @throws Error if they are invalid
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
  // In the order of writing.
  const own = has('quality') ? doubles(models) : quality?.slice();
  if (own === undefined) throw new Error('records: an estimate lacks its qualities');
  const shadow = has('shadow') ? doubles(models) : null;
  const floatsFor = (part: 'outcomes' | 'text' | 'counts') => (has(part) ? floats(models) : new Float32Array(models));
  const lists = { outcomes: floatsFor('outcomes'), text: floatsFor('text'), counts: floatsFor('counts') };
  return { estimate: { quality: own, shadow, length: scalars[0]!, trust: scalars[1]!, ...lists }, draw };
}

// Loops, because every request runs them.

function isZero(list: Float32Array): boolean {
  for (let i = 0; i < list.length; i++) if (!Object.is(list[i], 0)) return false;
  return true;
}

function isSame(one: Float64Array, other: Float64Array): boolean {
  if (one === other) return true;
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (!Object.is(one[i], other[i])) return false;
  return true;
}
