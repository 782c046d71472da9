import type { PackageVersions, Projects } from './versions.ts';

/**
 * How a language takes part in `npm run test:deep -- clients`:
 *
 * 1. Add the projects of the language to `versions.json`. A project is a group of packages that are installed together, with the version of
 * each.
 * 2. Write a `ClientLanguage` in `test/system/clients/languages/<language>/`, and add it to `LANGUAGES` in `languages.ts`.
 * 3. Write a program for each client. A program reads the variables of `ClientEnvironment`, checks its client, prints
 *    one line of JSON (`CheckLine`) for each check, and exits with 0, or with another code and a message on standard error.
 * 4. Write the page. Each block of the page with the language's `fence` runs, in order, with `SIGNALBOX_KEY` and with the server's
 *    address in place of `http://127.0.0.1:8787`. The block must print something, exit with 0 and make at least one call. A block whose
 *    first line has the word `skip` (` ```python skip `) does not run.
 */
export interface ClientLanguage {
  /** The key of the language's projects in `versions.json`, and its name in the summary. */
  readonly name: 'Python' | 'JavaScript' | 'Go' | 'Java' | 'Rust';
  /** Programs that must be on the PATH. The test skips the language if one of them is missing. */
  readonly tools: readonly string[];
  /** The page with the language's snippets, from the root of the repository. */
  readonly page: string;
  /** The language of the page's blocks that run, such as `python`. */
  readonly fence: string;
  /** The clients, in the order of the summary. Each client has its own test and keys. */
  readonly clients: readonly ClientProgram[];
  /**
   * Installs the projects of these clients into an empty folder. If the blocks of the page run, these are all clients of the language.
   * @throws Error with the output of the command that failed
   */
  install(folder: string, projects: Projects, clients: ClientLanguage['clients']): Promise<void>;
  /** Returns the command that runs the checks of a client. */
  command(folder: string, client: ClientProgram): ClientCommand;
  /** Saves a block of the page in the folder, compiles it if needed, and returns the command that runs it. */
  snippet(folder: string, text: string, at: number): Promise<ClientCommand>;
  /** Returns the newest versions of one project's packages that can be installed together. */
  newest(packages: readonly string[], folder: string): Promise<PackageVersions>;
}

export interface ClientProgram {
  /** A package of `versions.json`; the summary shows its version. */
  readonly name: string;
  /** The project that has the package. */
  readonly project: string;
}

export interface ClientCommand {
  readonly command: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The environment of each program. Addresses do not end with `/v1`. */
export interface ClientEnvironment {
  /** A server with the shipped policy and simulated models: `auto`, `auto-cheap`, `sim-large`, `sim-embed` and others. */
  readonly SIGNALBOX_URL: string;
  /** The key for calls whose usage the program reports. The sum must equal `GET /v1/usage`. */
  readonly SIGNALBOX_KEY: string;
  /** The key for calls on the same server whose usage the client does not show. */
  readonly UNCOUNTED_KEY: string;
  /** A key on the same server whose budget is too small for any call: Signalbox refuses each call with 402. */
  readonly EMPTY_KEY: string;
  /** A server whose models fail as their names say: see `FAULTS` in `stage.ts`. */
  readonly FAULTY_URL: string;
  readonly FAULTY_KEY: string;
  /** The address of a server with the model `claude-opus-5-5`, which refuses a forced tool call and answers in a JSON schema. */
  readonly CLAUDE_URL: string;
  readonly CLAUDE_KEY: string;
}

/** A line of standard output that reports a successful check. The test ignores other lines. */
export interface CheckLine {
  /** For example `chat` or `stream with usage`. */
  readonly check: string;
  /** The usage of each call that the check made with `SIGNALBOX_KEY`. */
  readonly usage?: readonly SeenUsage[];
}

/** The usage of an answer, as the client showed it. */
export interface SeenUsage {
  /** Tokens. */
  readonly input: number;
  /** Tokens. */
  readonly output: number;
  /** `platform.credits_consumed`, if the client shows it. The test compares Credits only if every call of the program has them. */
  readonly credits?: number;
}
