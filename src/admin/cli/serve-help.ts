import { type CommandHelp, DATA } from './command-help.ts';

/** The help of the commands that prepare and start a server, replace its processes and check its health. */
export const SERVE_HELP: Readonly<Record<string, CommandHelp>> = {
  serve: {
    use: 'to run the gateway, which applications call instead of a provider.',
    example: 'serve --host 0.0.0.0 --policies ./policies',
    usage: `[--port 8787] [--host 127.0.0.1] [--data ./.signalbox] [--policies DIR]
[--policies-from files|store] [--drain-ms 25000] [--metrics on|off] [--log auto|json|pretty|off]
[--allow-policy-writes] [--processes N] [--metrics-port 8788]`,
    summary: 'Serve the API.',
    details: `--host 0.0.0.0 accepts requests from other machines. By default, only this machine can connect.
By default, the data is in a SQLite database in the data folder. To let several servers share a database, set
DATABASE_URL=postgres://USER@HOST:PORT/DATABASE.
Instead of flags, you can set the variables PORT, HOST, SIGNALBOX_DATA, SIGNALBOX_POLICIES,
SIGNALBOX_METRICS and SIGNALBOX_LOG. At its start, the server creates the key in SIGNALBOX_API_KEY
with all scopes.
The log is readable text on a terminal and JSON elsewhere. --log off shows only warnings and errors.
An edit of a policy file applies within a second; SIGHUP applies it at once. With --policies-from store
(SIGNALBOX_POLICIES_FROM), the server uses pushed policies instead, and the policy folder has the plugins.
--allow-policy-writes (SIGNALBOX_ALLOW_POLICY_WRITES=on) lets owners edit providers over HTTP, too.
--processes N (SIGNALBOX_PROCESSES) runs N processes on one port. It needs PostgreSQL. The metrics of all
processes are then at /metrics on --metrics-port (SIGNALBOX_METRICS_PORT), by default the next port.
After SIGTERM, the server accepts no new requests. Running requests have --drain-ms to finish.`,
  },
  init: {
    use: 'before you edit the policy of a binary or a package.',
    example: 'init ~/signalbox',
    usage: '[FOLDER]',
    summary: 'Write the shipped policy into a folder, so that you can edit it.',
    details: `Writes policies/ and .env.example, which lists the variables of all providers, into FOLDER. Default: this
folder. Files that exist are not changed.
Exit code: 0 if both are there, else 1.`,
  },
  restart: {
    use: 'after an update or a new secret, without interrupting requests.',
    example: 'restart --data ./.signalbox',
    usage: '[--data DIR]',
    summary: 'Replace the processes of a server one after the other.',
    details: `Works for a server that was started with --processes. For each process, the command starts a replacement,
waits until the replacement serves, and then stops the old process, so that no request fails.
The new processes run the current program file and read the secrets again.
${DATA}
Exit code: 0 if all processes were replaced, else 1. A process that was not replaced continues to run.`,
  },
  health: {
    use: 'as a health check, for example of a container.',
    example: 'health --ready',
    usage: '[--url http://127.0.0.1:8787] [--ready] [--json]',
    summary: 'Check whether a running server is healthy.',
    details: `Requests /healthz, or /readyz with --ready, from --url. Without --url, requests it from this machine at PORT.
Exit code: 0 if the server answers within 3 s that it is healthy, else 1.`,
  },
};
