import { UsageError } from '../../core/usage-error.ts';
import { readSecretFile } from '../../host/secret-file.ts';

/** The state of a secret whose value is in a file or comes from a token source, without the value. */
export interface SecretStatus {
  /** The variable that policies name, such as `OPENAI_API_KEY`. */
  readonly variable: string;
  /** `file`, or the kind of the token source. */
  readonly source: string;
  /** When the value was last read or fetched, ms since 1970; null if it never was. */
  readonly readAt: number | null;
  /** Whether there is a value that can be used now. */
  readonly isSet: boolean;
  /** When the token ends, ms since 1970; null for a file, without a valid token and if the source does not say. */
  readonly expiresAt: number | null;
  /** Why the file cannot be used now, or why the last fetch failed; Signalbox then keeps the last value. Null for no problem. */
  readonly problem: string | null;
}

interface SecretFile extends Omit<SecretStatus, 'source' | 'isSet' | 'expiresAt'> {
  readonly path: string;
  readonly value: string | undefined;
}

interface SecretFilesOptions {
  /** Reads a variable of the process. Only variables of the process can name files. */
  readonly env: (name: string) => string | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called when the file of a secret becomes unusable. @param isKept whether an earlier value stays in use */
  readonly onUnusable: (variable: string, problem: string, isKept: boolean) => void;
}

/**
 * The environment, in which `NAME_FILE` may name a file with the value of `NAME`. Signalbox reads the file when the variable is first
 * needed, and again in `reread`. State: secret files.
 */
export class SecretFiles {
  readonly #options: SecretFilesOptions;
  /** Files by variable. */
  readonly #files = new Map<string, SecretFile>();

  constructor(options: SecretFilesOptions) {
    this.#options = options;
  }

  /**
   * Reads a variable. `get` throws UsageError if both the variable and its `_FILE` form are set. An empty environment variable counts as
   * not set.
   */
  readonly get = (name: string): string | undefined => {
    const { env } = this.#options;
    const value = env(name);
    const path = env(`${name}_FILE`)?.trim();
    if (!path) return value;
    if (value?.trim()) throw new UsageError(`${name} and ${name}_FILE are both set; unset one of them.`);
    return (
      this.#files.get(name) ?? this.#read({ variable: name, path, value: undefined, readAt: null, problem: null })
    ).value;
  };

  /**
   * Reads a variable whose value is needed only once; null if it is not set. `fixed` throws UsageError if the variable's file cannot be
   * used.
   */
  fixed(name: string): string | null {
    const value = this.get(name) || null;
    const problem = this.#files.get(name)?.problem;
    if (problem) throw new UsageError(`The file of ${name}_FILE cannot be used: ${problem}.`);
    return value;
  }

  /** Reads the files of secrets again, except the files of `fixed` variables. `reread` returns the variables whose values have changed. */
  reread(fixed: ReadonlySet<string>): readonly string[] {
    const files = [...this.#files.values()].filter(({ variable }) => !fixed.has(variable));
    return files.filter((file) => this.#read(file).value !== file.value).map(({ variable }) => variable);
  }

  readonly paths = (): readonly string[] => [...this.#files.values()].map(({ path }) => path);

  readonly list = (): readonly SecretStatus[] =>
    [...this.#files.values()].map(({ variable, value, readAt, problem }) => ({
      ...{ variable, source: 'file', readAt, isSet: value !== undefined, expiresAt: null, problem },
    }));

  /** Reads a file again, and keeps the last value if the file cannot be used. */
  #read(before: SecretFile): SecretFile {
    const { now, onUnusable } = this.#options;
    const { variable, path } = before;
    const found = readSecretFile(path);
    const after: SecretFile =
      'problem' in found ? { ...before, ...found } : { ...before, ...found, readAt: now(), problem: null };
    this.#files.set(variable, after);
    const { problem } = after;
    if (problem !== null && problem !== before.problem) onUnusable(variable, problem, after.value !== undefined);
    return after;
  }
}
