import { commandName } from '../core/command-name.ts';
import { plural } from '../core/text.ts';
import type { Log } from '../host/telemetry/log.ts';
import { type ServingProvider, servingText } from '../policy/runtime/candidate.ts';
import type { FirstKey } from './first-key.ts';
import type { Terminal } from './host.ts';

/** The facts of a server's start. */
interface Start {
  readonly address: string;
  /** Whether simulated models answer. */
  readonly simulated: boolean;
  readonly providers: readonly ServingProvider[];
  /** Servers on this machine that do not listen: `ollama at 127.0.0.1:11434`. */
  readonly silent: readonly string[];
  /** Names of the providers that are not set up here. */
  readonly leftOut: readonly string[];
  /** The database that other servers share; null for that of the data folder. */
  readonly database: string | null;
  /** Where the console is and how to sign in, in words; null if it is not served, and without a terminal. */
  readonly console: string | null;
  /** The folder that the shipped policy has just been written to, if it has. */
  readonly unpacked: string | null;
}

/** The command that says why a provider is left out. The shipped policy names so many that the reasons would bury the rest. */
const reasonsCommand = (): string => `${commandName()} policy check --all`;

/** Names of the providers that are set up and serve no model, separated by commas; empty for none. */
const idleOf = (providers: readonly ServingProvider[]): string =>
  providers.flatMap(({ name, served }) => (served.length === 0 ? [name] : [])).join(', ');

/** The first lines for a new operator: the address, and a command that works when pasted. */
function welcome(
  { address, simulated, providers, silent, leftOut, database, unpacked, ...start }: Start,
  key: string | null,
): string {
  // In double quotes, so that a shell fills the variable in; a key holds nothing that it would touch.
  const shown = key ?? '$SIGNALBOX_KEY';
  const body = '{"model":"auto","messages":[{"role":"user","content":"Say hello."}]}';
  const idle = idleOf(providers);
  const lines = [
    '',
    `  Signalbox is ready at ${address}`,
    '',
    start.console !== null && `  Console        ${start.console}`,
    `  Documentation  ${address}/docs`,
    simulated
      ? '  Models         simulated; for real ones, set the key of a provider and start again (docs/start.md)'
      : `  Models from    ${servingText(providers.filter(({ served }) => served.length > 0))}`,
    idle !== '' &&
      `  No model yet   ${idle}; declare what it serves in the policy (docs/start.md, A server of your own)`,
    silent.length > 0 && `  Not started    ${silent.join(', ')}: nothing listens there yet`,
    leftOut.length > 0 &&
      `  Not in use     ${plural(leftOut.length, 'provider')}; for the reasons: ${reasonsCommand()}`,
    database !== null && `  Database       ${database}`,
    unpacked !== null && `  Policy         ${unpacked}; edits take effect within a second`,
    ...(key ? ['', '  Your API key. It is shown only now, so save it:', `  ${key}`] : []),
    '',
    key ? '  Try it:' : '  Try it, with an API key in SIGNALBOX_KEY:',
    `  curl ${address}/v1/chat/completions -H "authorization: Bearer ${shown}" -H 'content-type: application/json' -d '${body}'`,
    '',
    '',
  ];
  return lines.filter((line) => line !== false).join('\n');
}

/** Announces that the server listens. A terminal shows the first key, once; elsewhere the key would end up in a log. */
export function announce(start: Start, firstKey: FirstKey | null, log: Log, out: Terminal): void {
  if (out.isTerminal) {
    out.write(welcome(start, firstKey?.key ?? null));
    firstKey?.shown();
    return;
  }
  const { address, providers, leftOut, database } = start;
  const idle = idleOf(providers);
  if (idle) log.warn('providers without a model: declare what they serve in the policy', { providers: idle });
  if (leftOut.length > 0) {
    log.info('providers left out', { providers: leftOut.join(', '), reasons: reasonsCommand() });
  }
  log.info('listening', { address, ...(database !== null && { database }), providers: servingText(providers) });
}
