import { type CommandHelp, DATA } from './command-help.ts';

/** Of the commands that start a server, replace its processes and ask for its health. */
export const SERVE_HELP: Readonly<Record<string, CommandHelp>> = {
  serve: {
    usage: `[--port 8787] [--host 127.0.0.1] [--data ./.signalbox] [--policies DIR]
[--policies-from files|store] [--drain-ms 25000] [--metrics on|off] [--log auto|json|pretty|off]
[--allow-policy-writes] [--processes N] [--metrics-port 8788]`,
    summary: 'Serve the API.',
    details: `DATABASE_URL=postgres://USER@HOST:PORT/DATABASE: the database that several servers share; else SQLite.
Variables do the same: PORT, HOST, SIGNALBOX_DATA, SIGNALBOX_POLICIES, SIGNALBOX_METRICS and
SIGNALBOX_LOG. SIGNALBOX_API_KEY is a key with all scopes to install at start.
The log is pretty on a terminal and JSON elsewhere. "off" leaves warnings and errors.
An edit of the policy takes effect within a second; SIGHUP reads it at once. With --policies-from
store (SIGNALBOX_POLICIES_FROM) the server follows policy push instead, and its folder has the plugins.
--allow-policy-writes (SIGNALBOX_ALLOW_POLICY_WRITES=on) lets owners edit providers, too, by HTTP.
--processes N (SIGNALBOX_PROCESSES) serves by N processes on one port, with a PostgreSQL in DATABASE_URL;
/metrics of all is then on --metrics-port (SIGNALBOX_METRICS_PORT), by default the next port.
On SIGTERM the server takes no new requests and gives running ones --drain-ms to finish.`,
  },
  restart: {
    usage: '[--data DIR]',
    summary: 'Replace the processes of a server one after the other.',
    details: `For a server with --processes: each process is asked to end once another one serves in its place,
so that no request fails. The new ones run the program and read the secrets as they are now.
${DATA}
Exit code: 0 when all are replaced, else 1; those that were not go on.`,
  },
  health: {
    usage: '[--url http://127.0.0.1:8787] [--ready] [--json]',
    summary: 'Ask a running server whether it is alive.',
    details: `Asks /healthz, or with --ready /readyz, of --url or of PORT on this machine.
Exit code: 0 when the server says yes within 3 s, else 1. Made for containers without curl.`,
  },
};
