/** The lengths of the questions of one task. */
export interface TaskLengths {
  /** When the task was last used, on a clock that counts the uses of all tasks. */
  lastUsed: number;
  requests: number;
  /** The running mean of the lengths, in standard deviations. */
  length: number;
}

/** The data that is stored about the lengths of questions. */
interface StoredLengths {
  /** The tasks by name, in the order in which they came. */
  readonly tasks: Map<string, TaskLengths>;
  readonly clock: number;
  /** The mark of the installation, by which 0.1 recognized its own bytes. */
  readonly mark: number;
}

/**
 * The bytes (little endian) have the format of 0.1, which learned from outcomes. The head has `MAGIC`, the mark, the clock and four figures about words. For each task, the bytes have its name, `lastUsed`,
 * `requests`, `length` and five figures about words. The number of models with words follows the tasks. The figures about words are skipped
 * when read, and written as 0.
 */
const MAGIC = 0x4c424c31;
const HEAD_BYTES = 8 + 8 * 5 + 4;
const TASK_FIGURES = 8;

/** Reads the bytes of `lengthsPart`. For null or damaged bytes, the result has no lengths. */
export function lengthsFrom(bytes: Uint8Array | null): StoredLengths {
  if (bytes === null) return { tasks: new Map(), clock: 0, mark: 0 };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return read(view);
  } catch (cause) {
    if (cause instanceof RangeError) return lengthsFrom(null);
    throw cause;
  }
}

/** @throws RangeError for bytes that are truncated, or that no version wrote */
function read(view: DataView): StoredLengths {
  const figure = (at: number): number => {
    const value = view.getFloat64(at, true);
    if (!Number.isFinite(value)) throw new RangeError('a figure is not finite');
    return value;
  };
  if (view.getUint32(0, true) !== MAGIC) throw new RangeError('they are of another version');
  const tasks = new Map<string, TaskLengths>();
  let at = HEAD_BYTES;
  for (let left = view.getUint32(HEAD_BYTES - 4, true); left > 0; left--) {
    const units = view.getUint32(at, true);
    let name = '';
    at += 4;
    for (const end = at + 2 * units; at < end; at += 2) name += String.fromCharCode(view.getUint16(at, true));
    tasks.set(name, { lastUsed: figure(at), requests: figure(at + 8), length: figure(at + 16) });
    at += 8 * TASK_FIGURES;
  }
  return { tasks, clock: figure(8), mark: view.getUint32(4, true) };
}

export function lengthsPart({ tasks, clock, mark }: StoredLengths): Uint8Array {
  let size = HEAD_BYTES + 4;
  for (const name of tasks.keys()) size += 4 + 2 * name.length + 8 * TASK_FIGURES;
  const view = new DataView(new ArrayBuffer(size));
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, mark, true);
  view.setFloat64(8, clock, true);
  view.setUint32(HEAD_BYTES - 4, tasks.size, true);
  let at = HEAD_BYTES;
  for (const [name, { lastUsed, requests, length }] of tasks) {
    view.setUint32(at, name.length, true);
    at += 4;
    for (let unit = 0; unit < name.length; unit++, at += 2) view.setUint16(at, name.charCodeAt(unit), true);
    [lastUsed, requests, length].forEach((value, of) => void view.setFloat64(at + 8 * of, value, true));
    at += 8 * TASK_FIGURES;
  }
  return new Uint8Array(view.buffer);
}
