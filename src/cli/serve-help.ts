import type { CommandHelp } from './command-help.ts';

/** The help of `signalbox serve`, which `main.ts` runs. */
export const SERVE_HELP: CommandHelp = {
  use: 'to run the gateway, which applications call instead of a provider.',
  example: 'serve --host 0.0.0.0 --policies ./policies',
  usage: `[--port 8787] [--host 127.0.0.1] [--data ./.signalbox] [--policies DIR]
[--policies-from files|store] [--credentials FILE] [--drain-ms 25000] [--metrics on|off]
[--log auto|json|pretty|off] [--allow-policy-writes] [--processes N] [--metrics-port 8788]`,
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
--credentials FILE (SIGNALBOX_CREDENTIALS) names a file with token sources of clouds, for keys of providers.
--allow-policy-writes (SIGNALBOX_ALLOW_POLICY_WRITES=on) lets owners edit providers over HTTP, too.
--processes N (SIGNALBOX_PROCESSES) runs N processes on one port. It needs PostgreSQL. The metrics of all
processes are then at /metrics on --metrics-port (SIGNALBOX_METRICS_PORT), by default the next port.
After SIGTERM, the server accepts no new requests. Running requests have --drain-ms to finish.`,
};
