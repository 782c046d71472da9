import { join } from 'node:path';
import type { LogForm } from '../../host/telemetry/log.ts';
import type { PolicyOrigin } from '../../store/instance-reports.ts';

/** The settings that operators give a server when they start it. */
export interface ServeOptions {
  readonly port: number;
  readonly host: string;
  /** The data folder. The data folder has the first key, and a copy of the shipped policy. */
  readonly home: string;
  /**
   * The folder for the notes and the spool file of this server, and for the database if no other is named. The notes folder is the data
   * folder, or, for one of several processes, a folder inside the data folder.
   */
  readonly data: string;
  /** The URL of the store: a path, or the URL of a database that several servers share. The URL may contain a password. */
  readonly database: string;
  /** The folder of the policy's YAML files and plugins. */
  readonly policies: string;
  /** The path of the file with token sources; null for none. */
  readonly credentials: string | null;
  /** Whether the server uses the policy in the folder, or the last pushed revision. Before the first push, the server uses the folder. */
  readonly policiesFrom: PolicyOrigin;
  /** How long running requests may continue after SIGTERM, ms. */
  readonly drainMs: number;
  /** Whether the server answers `/metrics`. Everyone who can reach the port can read the metrics. */
  readonly metrics: boolean;
  /** Whether owners may make guarded edits of the policy over HTTP. Guarded edits give rights or send data to other places. */
  readonly allowsPolicyWrites: boolean;
  /** How many processes serve on the port, started and watched by one more process; null if only this process serves. */
  readonly processes: number | null;
  /** The number of this process among the processes of its parent; null without a parent. */
  readonly process: number | null;
  /** The port on which the parent of several processes answers `/metrics`. */
  readonly metricsPort: number;
  /** The format of log lines. `off` shows only warnings and errors. */
  readonly log: LogForm;
}

/** The policy folders that are used for a data folder if none is named. */
export interface DefaultPolicies {
  readonly forServe: (data: string) => string;
  /** The folder that the last server of the data folder used, or else the folder that `serve` would use. */
  readonly forCommands: (data: string) => string;
}

/** Returns the folder of one of several server processes, which is inside the shared data folder. */
export const processFolder = (home: string, number: number | string): string => join(home, 'processes', `${number}`);

/** The arguments with which a parent starts a process with its own options. `parseCommand` reads them. */
export const processArguments = (options: ServeOptions, number: number): string[] => [
  'serve',
  ...['--process', `${number}`],
  ...['--port', `${options.port}`, '--host', options.host, '--data', options.home],
  ...['--policies', options.policies, '--policies-from', options.policiesFrom, '--drain-ms', `${options.drainMs}`],
  ...['--metrics', options.metrics ? 'on' : 'off', '--metrics-port', `${options.metricsPort}`, '--log', options.log],
  ...(options.allowsPolicyWrites ? ['--allow-policy-writes'] : []),
  ...(options.credentials === null ? [] : ['--credentials', options.credentials]),
];
