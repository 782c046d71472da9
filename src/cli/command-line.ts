import { join } from 'node:path';
import type { DefaultPolicies } from '../admin/use-cases/serve-options.ts';
import { lazy } from '../core/lazy.ts';
import { UsageError } from '../core/usage-error.ts';
import { SecretFiles } from '../policy/runtime/secret-files.ts';
import { checkedUrl, databaseIn, refuseUrl } from '../store/open.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The default port of `serve`. */
const PORT = '8787';
/** The default host of `serve`, with which only this machine can connect. */
const HOST = '127.0.0.1';

/** The folders that flags name; null without the flag. */
interface NamedFolders {
  readonly data: string | null;
  readonly policies: string | null;
}

/** A command line of any command except `serve` and `help`. Environment variables are read when the command first needs them. */
export class CommandLine<Name extends string = string> {
  /** The first word. */
  readonly name: Name;
  /** The words after the first, without the flags of folders. */
  readonly args: readonly string[];
  /** All words of the command line. */
  readonly words: readonly string[];
  readonly #database = lazy(() => databaseAt(this.data, this.#env));
  readonly #named: NamedFolders;
  readonly #env: Environment;
  readonly #defaults: DefaultPolicies;

  constructor(
    { name, args, words }: Pick<CommandLine<Name>, 'name' | 'args' | 'words'>,
    named: NamedFolders,
    env: Environment,
    defaults: DefaultPolicies,
  ) {
    this.name = name;
    this.args = args;
    this.words = words;
    this.#named = named;
    this.#env = env;
    this.#defaults = defaults;
  }

  /** The data folder. @throws UsageError for a URL */
  get data(): string {
    return dataFolder(this.#named.data, this.#env);
  }

  /** The URL of the store: `DATABASE_URL`, or else the database file in the data folder. @throws UsageError for a wrong variable */
  get database(): string {
    return this.#database();
  }

  /** The policy folder. */
  get folder(): string {
    return this.#named.policies ?? this.policiesFor('forCommands');
  }

  /** The flags in the arguments that name the folders. Environment variables may name the folders, too. */
  get folderFlags(): readonly string[] {
    const { policies, data } = this.#named;
    return [...(policies === null ? [] : ['--policies']), ...(data === null ? [] : ['--data'])];
  }

  /** The policy folder that `serve` or commands use in this environment if no flag names one. */
  policiesFor(user: keyof DefaultPolicies): string {
    return this.#env.SIGNALBOX_POLICIES || this.#defaults[user](this.data);
  }

  /** Where `serve` would listen in this environment. @throws UsageError for a wrong variable */
  get door(): { readonly host: string; readonly port: number } {
    return doorIn(this.#env);
  }
}

/** Returns where `serve` listens. Flags override variables. @throws UsageError */
export const doorIn = (env: Environment, { host, port }: { readonly host?: string; readonly port?: string } = {}) => ({
  host: host ?? (env.HOST || HOST),
  port: portOf(port ?? (env.PORT || PORT)),
});

export const portOf = (text: string): number => numberOf('The port must be a number', text, 65_535);

export function numberOf(claim: string, text: string, max: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= max) return number;
  throw new UsageError(`${claim} from 0 to ${max}, not "${text}".`);
}

/**
 * The data folder: the flag, or else the environment variable. Throws UsageError for a URL, and shows only the scheme of the URL, since the
 * rest may be secret.
 */
export function dataFolder(flag: string | null, env: Environment): string {
  const folder = flag ?? (env.SIGNALBOX_DATA || join('.', '.signalbox'));
  refuseUrl(folder);
  return folder;
}

/** Returns the URL in `DATABASE_URL` or in its file, or else the database in the data folder. Throws UsageError. */
export function databaseAt(data: string, env: Environment): string {
  const secrets = new SecretFiles({ env: (name) => env[name], now: Date.now, onUnusable: () => {} });
  return checkedUrl(secrets.fixed('DATABASE_URL') ?? '') ?? databaseIn(data);
}
