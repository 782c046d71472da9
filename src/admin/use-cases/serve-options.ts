import { join } from 'node:path';
import type { LogForm } from '../../host/telemetry/log.ts';
import type { PolicyOrigin } from '../../store/instance-reports.ts';

/** The settings of a server that operators give at its start. */
export interface ServeOptions {
  readonly port: number;
  readonly host: string;
  /** The data folder: of the first key, and of the shipped policy's copy. */
  readonly home: string;
  /** Folder of the notes and the spool of this server, and of the database where none is named: the data folder, or one in it for a process of several. */
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
  /** How many processes serve at the port, kept up by one more; null: this one alone. */
  readonly processes: number | null;
  /** The number of this process among those of its parent; null without one. */
  readonly process: number | null;
  /** Where the parent of several processes answers `/metrics`. */
  readonly metricsPort: number;
  /** The form of the log's lines; `off`: warnings and errors alone. */
  readonly log: LogForm;
}

/** The folder of one process of several, in their data folder. */
export const processFolder = (home: string, number: number | string): string => join(home, 'processes', `${number}`);

/** The arguments by which a process of several serves as its parent was told; `parseCommand` reads them. */
export const processArguments = (options: ServeOptions, number: number): string[] => [
  'serve',
  ...['--process', `${number}`],
  ...['--port', `${options.port}`, '--host', options.host, '--data', options.home],
  ...['--policies', options.policies, '--policies-from', options.policiesFrom, '--drain-ms', `${options.drainMs}`],
  ...['--metrics', options.metrics ? 'on' : 'off', '--metrics-port', `${options.metricsPort}`, '--log', options.log],
  ...(options.allowsPolicyWrites ? ['--allow-policy-writes'] : []),
];
