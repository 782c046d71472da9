import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PolicyCandidate } from '../policy/runtime/candidate.ts';

/** The parts of a policy that affect the outcome of its test cases. */
type NotedPolicy = Pick<PolicyCandidate, 'bundle' | 'runtime' | 'surroundings' | 'variables'>;

/** The versions of the code that runs the test cases. Time-zone data is part of ICU, which is part of Bun. */
export const ENGINE = [Bun.version, Bun.revision, process.versions.icu ?? ''] as const;

const KEY_BYTES = 32;
/** The key and the hash of the rehearsal note, in hexadecimal digits. */
const FORM = /^([0-9a-f]{64}) ([0-9a-f]{64})\n$/;
const LENGTH = 130;

export interface RehearsalNoteOptions {
  /** The data folder. */
  readonly data: string;
  /** The version of Signalbox, with its commit. */
  readonly version: string;
  readonly env: (variable: string) => string | undefined;
  readonly engine?: readonly string[];
}

/**
 * Stores in the data folder which policy last passed its own test cases, as a keyed hash of everything that affects their outcome. A
 * rehearsal note that is missing, damaged or of another version matches no policy. State: rehearsal note.
 */
export class RehearsalNote {
  readonly #file: string;
  readonly #options: RehearsalNoteOptions;

  constructor(options: RehearsalNoteOptions) {
    this.#file = join(options.data, 'policy.rehearsed');
    this.#options = options;
  }

  /** Whether this policy passed its test cases when it was last active. `isOf` never throws. */
  isOf(policy: NotedPolicy): boolean {
    const [, key, hash] = FORM.exec(this.#read()) ?? [];
    return key !== undefined && hash === this.#hash(policy, key);
  }

  /**
   * Notes an active policy that has passed its test cases. Without the rehearsal note, the next start only takes longer. `keep` never
   * throws.
   */
  keep(policy: NotedPolicy): void {
    const key = randomBytes(KEY_BYTES).toString('hex');
    this.forget();
    try {
      writeFileSync(this.#file, `${key} ${this.#hash(policy, key)}\n`, { flag: 'wx', mode: 0o600 });
    } catch {
      // The store, not the rehearsal note, reports a disk that is full or cannot be written.
    }
  }

  /** Removes the rehearsal note, so that the next start runs the test cases before it listens. `forget` never throws. */
  forget(): void {
    try {
      rmSync(this.#file, { force: true });
    } catch {
      // The store, not the rehearsal note, reports a disk that cannot be written.
    }
  }

  #read(): string {
    try {
      const found = statSync(this.#file);
      return found.isFile() && found.size === LENGTH ? readFileSync(this.#file, 'latin1') : '';
    } catch {
      return '';
    }
  }

  /**
   * The values of environment variables can be secrets. With a key, a reader of the rehearsal note cannot find the values of variables with
   * precomputed tables.
   */
  #hash({ bundle, runtime, surroundings, variables }: NotedPolicy, key: string): string {
    const { version, env, engine = ENGINE } = this.#options;
    const values = variables.map((name) => [name, env(name) ?? null]);
    const parts = [version, engine, bundle.files, runtime.snapshot.revision, surroundings.plugins, values];
    return new Bun.CryptoHasher('sha256', Buffer.from(key, 'hex')).update(JSON.stringify(parts)).digest('hex');
  }
}
