/** Four letters and a version, at the start of each part. */
const MAGIC = 0x4c424c31;
const FIRST_BYTES = 256;

/** A reader or writer of figures in their place: each method takes the figure before, and returns the one to keep. */
export interface FigureCodec {
  f64(value: number): number;
  /** A number of at least 0. */
  mass(value: number): number;
}

/** Writes one part: little endian, after `MAGIC` and the mark of the installation. */
export class PartWriter implements FigureCodec {
  #bytes = new Uint8Array(FIRST_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  constructor(installation: number) {
    this.u32(MAGIC);
    this.u32(installation);
  }

  u16(value: number): void {
    const at = this.#room(2);
    this.#view.setUint16(at, value, true);
  }

  u32(value: number): void {
    const at = this.#room(4);
    this.#view.setUint32(at, value, true);
  }

  f64(value: number): number {
    const at = this.#room(8);
    this.#view.setFloat64(at, value, true);
    return value;
  }

  mass(value: number): number {
    return this.f64(value);
  }

  skip(bytes: number): void {
    this.#room(bytes);
  }

  /** Writes a weight in one step, for speed. */
  weight(bucket: number, mean: number, added: number): void {
    const at = this.#room(10);
    this.#view.setUint16(at, bucket, true);
    this.#view.setFloat32(at + 2, mean, true);
    this.#view.setFloat32(at + 6, added, true);
  }

  /** Writes code units, so that any string is restored exactly. */
  text(value: string): void {
    this.u32(value.length);
    for (let at = 0; at < value.length; at++) this.u16(value.charCodeAt(at));
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  /** The offset for the next bytes. May replace the view. */
  #room(bytes: number): number {
    const at = this.#length;
    this.#length = at + bytes;
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#bytes.length);
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }
}

/**
 * Reads a `PartWriter`'s bytes.
 * @throws Error with the part's name if they are foreign, cut or not finite
 */
export class PartReader implements FigureCodec {
  readonly #part: string;
  readonly #view: DataView;
  #at = 0;

  constructor(part: string, bytes: Uint8Array, installation: number) {
    this.#part = part;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (this.u32() !== MAGIC) throw this.error('was not written by this version of the estimator `learned`');
    if (this.u32() !== installation) throw this.error('was learnt with another secret');
  }

  u16(): number {
    return this.#view.getUint16(this.#next(2), true);
  }

  u32(): number {
    return this.#view.getUint32(this.#next(4), true);
  }

  f64(): number {
    return this.#finite(this.#view.getFloat64(this.#next(8), true));
  }

  mass(): number {
    return this.#atLeastZero(this.f64());
  }

  weight(): { mean: number; added: number } {
    return { mean: this.#f32(), added: this.#atLeastZero(this.#f32()) };
  }

  get isAtEnd(): boolean {
    return this.#at === this.#view.byteLength;
  }

  text(): string {
    const length = this.u32();
    const from = this.#next(2 * length);
    let value = '';
    for (let at = 0; at < length; at++) value += String.fromCharCode(this.#view.getUint16(from + 2 * at, true));
    return value;
  }

  /** Throws if bytes are left. */
  end(): void {
    if (!this.isAtEnd) throw this.error('is longer than what it holds');
  }

  error(says: string): Error {
    return new Error(`part \`${this.#part}\` of what was learnt ${says}`);
  }

  #next(bytes: number): number {
    const at = this.#at;
    if (at + bytes > this.#view.byteLength) throw this.error('is cut short');
    this.#at = at + bytes;
    return at;
  }

  #atLeastZero(value: number): number {
    if (value < 0) throw this.error('holds a figure below 0 where none can be');
    return value;
  }

  #f32(): number {
    return this.#finite(this.#view.getFloat32(this.#next(4), true));
  }

  #finite(value: number): number {
    if (!Number.isFinite(value)) throw this.error('holds what is no finite number');
    return value;
  }
}
