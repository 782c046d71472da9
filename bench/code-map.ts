/** The compiled code of one function, by its addresses. */
interface CompiledFunction {
  readonly from: number;
  readonly to: number;
  readonly name: string;
}

/** Code of the engine that compiled code calls. The engine's code counts for the function before it. */
const GLUE = /^JSC-(?:\w*Thunk|InlineCache|\w*Stub)\b/;
const TIER = /^JSC-\w+: /;

const HEADER_SIZE_AT = 8;
const RECORD_HEAD = 16;
/** The type of a record about code: its header, then process, thread, address, address, size, number and name. */
const CODE_LOAD = 0;
const ADDRESS_AT = 32;
const SIZE_AT = 40;
const NAME_AT = 56;

/**
 * Reads a dump of compiled code in the format of Linux's `perf` (tools/perf/Documentation/jitdump-specification.txt), as JavaScriptCore
 * writes it with `useJITDump`. In the dump, code that replaced older code comes after the older code.
 */
export function readJitDump(dump: Buffer): CompiledFunction[] {
  const found: CompiledFunction[] = [];
  for (let at = dump.readUInt32LE(HEADER_SIZE_AT); at + RECORD_HEAD <= dump.length; ) {
    const size = dump.readUInt32LE(at + 4);
    if (size === 0) break;
    if (dump.readUInt32LE(at) === CODE_LOAD) {
      const from = Number(dump.readBigUInt64LE(at + ADDRESS_AT));
      const name = dump.toString('utf8', at + NAME_AT, dump.indexOf(0, at + NAME_AT));
      found.push({ from, to: from + Number(dump.readBigUInt64LE(at + SIZE_AT)), name });
    }
    at += size;
  }
  return found;
}

const PAGE = 4_096;

/** Finds functions by the addresses of their code. */
export class CodeMap {
  /** The code on each page of memory, the latest last. */
  readonly #pages = new Map<number, CompiledFunction[]>();

  constructor(functions: readonly CompiledFunction[]) {
    for (const one of functions) {
      for (let page = Math.floor(one.from / PAGE); page * PAGE < one.to; page++) {
        const there = this.#pages.get(page);
        if (there) there.push(one);
        else this.#pages.set(page, [one]);
      }
    }
  }

  /** Returns the function at an address: its name and a hash of its source. Returns null for no function and for the engine's own code. */
  nameAt(address: number): string | null {
    const there = this.#pages.get(Math.floor(address / PAGE));
    const found = there?.findLast(({ from, to }) => from <= address && address < to);
    return !found || GLUE.test(found.name) ? null : found.name.replace(TIER, '');
  }
}
