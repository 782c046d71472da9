import type { Operation } from '../admin/kit/operation.ts';
import type { OfflineDatabase } from '../admin/offline.ts';
import type { BooksFiles } from '../admin/use-cases/ledger/reading.ts';
import type { Plugin } from '../contract/kinds.ts';
import type { CommandHelp } from './command-help.ts';
import type { CommandLine } from './command-line.ts';
import type { Performer } from './operations.ts';
import type { PolicyCommand } from './policy/command.ts';
import type { CommandOutput } from './result.ts';

/** The parts of the process that commands use. */
export interface CommandHost {
  readonly version: string;
  /** The variables of the environment. */
  readonly env: (name: string) => string | undefined;
  /** ms since 1970, never decreasing */
  readonly now: () => number;
  /** Loads the plugins that come with Signalbox. */
  readonly shipped: () => Promise<readonly Plugin[]>;
  /** Whether the standard output is a terminal. */
  readonly terminal: boolean;
  /** Writes to the standard output. Resolves once the reader accepted the text, so that a slow reader does not fill the memory. */
  readonly write: (text: string | Uint8Array) => Promise<void>;
  /** Writes to the standard error. */
  readonly warn: (text: string) => void;
  /** Reads the standard input to its end. */
  readonly input: () => Promise<string>;
  /** Returns a signal that Ctrl-C, SIGTERM or a closed terminal aborts, so that a running command can end properly. */
  readonly ended: PolicyCommand['ended'];
  /**
   * Protects the standard output from a policy's plugins, and reports rejected promises that a plugin does not handle. A plugin that ends
   * the process cannot fake a successful exit code.
   */
  readonly mindPlugins: () => void;
}

/** The ledger of a data folder. */
export interface LedgerFiles extends BooksFiles {
  /** Why the database is not the ledger of the data folder, or which entries it has lost; null if there is no fault. */
  readonly ledgerFault: string | null;
}

/** What commands use. Each part is opened when a command first needs it. */
export interface CommandContext extends CommandHost {
  readonly line: CommandLine;
  /** The database, which a command without a server reads and changes. */
  readonly offline: OfflineDatabase;
  /** Writes a sentence to the standard error. */
  readonly tell: (text: string) => void;
  /** Returns the existing ledger, and compares it with the note in the data folder. A fault makes the exit code 2. */
  readonly books: () => Promise<LedgerFiles>;
  /** The policy folder, and what judges policies with the variables of this shell. The policy must fit the ledger in the data folder. */
  readonly policy: () => Promise<PolicyCommand>;
}

/** A command that is not the command of an operation, with its help. */
export interface CommandDefinition extends CommandHelp {
  /** Runs the command to its end. Throws UsageError, or an Error of one sentence. */
  readonly run: (args: readonly string[], context: CommandContext) => CommandOutput | Promise<CommandOutput>;
  /** The operation with which a running server carries out the command; absent if the command never uses a server. */
  readonly served?: {
    readonly operation: Operation;
    /** The flag with which the command reads the database itself. */
    readonly unless: string;
    readonly run: (args: readonly string[], perform: Performer, tell: CommandContext['tell']) => Promise<CommandOutput>;
  };
}
