/** The ratio between neighbouring bounds. A value in the histogram is accurate to within the square root of this ratio: 4.9 %. */
const RATIO = 1.1;
const LOG_RATIO = Math.log(RATIO);
/** The last bucket, for values above about an hour in ms. No request takes longer than an hour. */
const PLACE_MAX = 160;

/** Returns the bucket of a value: 0 for values up to 1, then one bucket for each further 10 %. */
const placeOf = (value: number): number =>
  value <= 1 ? 0 : Math.min(PLACE_MAX, Math.ceil(Math.log(value) / LOG_RATIO - 1e-9));

/** Returns the value that represents a bucket: the geometric mean of its bounds. */
const valueAt = (place: number): number => (place === 0 ? 1 : RATIO ** (place - 0.5));

/**
 * Counts positive values by size. Two histograms are merged by adding their counts, so the histogram of an hour is the sum of its minutes.
 * The counts are lists in the order of buckets, because one report reads some ten thousand histograms with few values each.
 */
export class TimeHistogram {
  #places: number[] = [];
  #counts: number[] = [];

  /** @throws RangeError for bytes that `encode` did not make */
  static decode(bytes: Uint8Array): TimeHistogram {
    const histogram = new TimeHistogram();
    const numbers = numbersIn(bytes);
    if (numbers.length % 2 === 1) throw new RangeError('a histogram is cut off');
    let place = 0;
    for (let at = 0; at < numbers.length; at += 2) {
      place += numbers[at]!;
      histogram.#places.push(place);
      histogram.#counts.push(numbers[at + 1]!);
    }
    return histogram;
  }

  add(value: number): void {
    const place = placeOf(value);
    const own = this.#places.indexOf(place);
    if (own >= 0) {
      this.#counts[own]!++;
      return;
    }
    const at = this.#places.findIndex((one) => one > place);
    const end = at < 0 ? this.#places.length : at;
    this.#places.splice(end, 0, place);
    this.#counts.splice(end, 0, 1);
  }

  merge(other: TimeHistogram): void {
    if (other.#places.length === 0) return;
    const [places, counts]: [number[], number[]] = [[], []];
    for (let own = 0, its = 0; own < this.#places.length || its < other.#places.length; ) {
      const [one, two] = [this.#places[own] ?? PLACE_MAX + 1, other.#places[its] ?? PLACE_MAX + 1];
      places.push(Math.min(one, two));
      counts.push((one <= two ? this.#counts[own++]! : 0) + (two <= one ? other.#counts[its++]! : 0));
    }
    this.#places = places;
    this.#counts = counts;
  }

  /**
   * Returns the value that a share of all values does not exceed, within 5 %.
   * @param share from 0 to 1
   * @returns null without values
   */
  quantile(share: number): number | null {
    const rank = Math.max(1, Math.ceil(share * this.#counts.reduce((sum, count) => sum + count, 0)));
    let seen = 0;
    for (let at = 0; at < this.#places.length; at++) {
      seen += this.#counts[at]!;
      if (seen >= rank) return valueAt(this.#places[at]!);
    }
    return null;
  }

  /** For each bucket with values, writes the distance to the previous bucket and the count, with seven bits a byte. */
  encode(): Uint8Array {
    const bytes: number[] = [];
    let before = 0;
    for (const [at, place] of this.#places.entries()) {
      push(bytes, place - before);
      push(bytes, this.#counts[at]!);
      before = place;
    }
    return Uint8Array.from(bytes);
  }
}

function push(bytes: number[], value: number): void {
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push(128 + (rest % 128));
  bytes.push(rest);
}

function numbersIn(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  let [value, scale] = [0, 1];
  for (const byte of bytes) {
    value += (byte % 128) * scale;
    scale *= 128;
    if (byte >= 128) continue;
    numbers.push(value);
    [value, scale] = [0, 1];
  }
  if (scale > 1) throw new RangeError('a histogram is cut off');
  return numbers;
}
