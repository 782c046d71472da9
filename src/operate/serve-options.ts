import type { PolicyOrigin } from '../store/instance-reports.ts';
import type { LogForm } from '../telemetry/log.ts';

/** The settings of a server that operators give at its start. */
export interface ServeOptions {
  readonly port: number;
  readonly host: string;
  /** Folder of the first key, and of the database where none is named. */
  readonly data: string;
  /** The URL of the store: a path, or that of a database that several servers share. May have a password. */
  readonly database: string;
  /** Folder of the policy's YAML files, and of its plugins. */
  readonly policies: string;
  /** Whether the policy is that of the folder, or the revision that was pushed last; before the first, that of the folder. */
  readonly policiesFrom: PolicyOrigin;
  /** Time for running requests after SIGTERM, ms. */
  readonly drainMs: number;
  /** Whether `/metrics` answers, to anybody who can reach the port. */
  readonly metrics: boolean;
  /** Whether owners may make guarded edits of the policy by HTTP: those that give power or send data elsewhere. */
  readonly allowsPolicyWrites: boolean;
  /** The form of the log's lines; `off`: warnings and errors alone. */
  readonly log: LogForm;
}
