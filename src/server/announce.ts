import { plural } from '../core/text.ts';
import type { Log } from '../telemetry/log.ts';
import type { FirstKey } from './first-key.ts';
import type { Terminal } from './host.ts';

/** The facts of a server's start. */
interface Start {
  readonly address: string;
  /** Whether simulated models answer. */
  readonly simulated: boolean;
  /** The providers that answer, with their numbers of models: `openai (6 models)`. */
  readonly providers: string;
  /** Providers that do not answer, with the reason: `gemini (GEMINI_API_KEY is not set)`. */
  readonly leftOut: readonly string[];
  /** The folder that the shipped policy has just been written to, if it has. */
  readonly unpacked: string | null;
}

/** The command that starts this program, as typed in the folder where it lives. */
const COMMAND = Bun.isStandaloneExecutable ? 'signalbox' : './signalbox';

/** The first lines for a new operator: the address, and a command that works when pasted. */
function welcome({ address, simulated, providers, leftOut, unpacked }: Start, key: string | null): string {
  // In double quotes, so that a shell fills the variable in; a key holds nothing that it would touch.
  const shown = key ?? '$SIGNALBOX_KEY';
  const body = '{"model":"auto","messages":[{"role":"user","content":"Say hello."}]}';
  return [
    '',
    `  Signalbox is ready at ${address}`,
    '',
    `  Documentation  ${address}/docs`,
    simulated
      ? '  Models         simulated; for real ones, set the key of a provider and start again (docs/start.md)'
      : `  Models from    ${providers}`,
    // The shipped policy names so many that their reasons would bury the rest.
    ...(leftOut.length > 0
      ? [`  Not in use     ${plural(leftOut.length, 'provider')}; for the reasons: ${COMMAND} policy check --all`]
      : []),
    ...(unpacked ? [`  Policy         ${unpacked}; edits take effect within a second`] : []),
    ...(key ? ['', '  Your API key. It is shown only now, so save it:', `  ${key}`] : []),
    '',
    key ? '  Try it:' : '  Try it, with an API key in SIGNALBOX_KEY:',
    `  curl ${address}/v1/chat/completions -H "authorization: Bearer ${shown}" -H 'content-type: application/json' -d '${body}'`,
    '',
    '',
  ].join('\n');
}

/** Announces that the server listens. A terminal shows the first key, once; elsewhere the key would end up in a log. */
export function announce(start: Start, firstKey: FirstKey | null, log: Log, out: Terminal): void {
  if (out.isTerminal) {
    out.write(welcome(start, firstKey?.key ?? null));
    firstKey?.shown();
    return;
  }
  if (start.leftOut.length > 0) log.info('providers left out', { providers: start.leftOut.join(', ') });
  log.info('listening', { address: start.address, providers: start.providers });
}
