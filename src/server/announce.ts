import { plural } from '../core/text.ts';
import type { Log } from '../telemetry/log.ts';
import type { FirstKey } from './first-key.ts';
import type { Terminal } from './host.ts';

/** The facts of a server's start. */
interface Start {
  readonly address: string;
  /** Whether made-up models answer. */
  readonly simulated: boolean;
  /** The providers that answer, with their numbers of models: `openai (6 models)`. */
  readonly providers: string;
  /** Providers that do not answer, with the reason: `gemini (GEMINI_API_KEY is not set)`. */
  readonly leftOut: readonly string[];
  /** The folder that the shipped policy has just been written to, if it has. */
  readonly unpacked: string | null;
}

/** The first lines for a new operator: the address, and a command that works when pasted. */
function welcome({ address, simulated, providers, leftOut, unpacked }: Start, key: string | null): string {
  // In double quotes, so that a shell fills the variable in; a key holds nothing that it would touch.
  const shown = key ?? '$SIGNALBOX_KEY';
  const body = '{"model":"auto","messages":[{"role":"user","content":"Say hello."}]}';
  return [
    '',
    `  Signalbox is ready at ${address}, its documentation at ${address}/docs`,
    simulated
      ? '  No provider has a key, so simulated models answer; see “Real providers” in the README.'
      : `  Who answers: ${providers}.`,
    // The shipped policy names so many that their reasons would bury the rest.
    ...(leftOut.length > 0
      ? [`  Left out: ${plural(leftOut.length, 'provider')}; signalbox policy check --all tells why.`]
      : []),
    ...(unpacked ? [`  Its policy is in ${unpacked}; what you change there is in force within a second.`] : []),
    ...(key ? ['', '  Your API key, shown this once:', `  ${key}`] : []),
    '',
    '  Try it:',
    `  curl ${address}/v1/chat/completions -H "authorization: Bearer ${shown}" -H 'content-type: application/json' -d '${body}'`,
    '',
    '',
  ].join('\n');
}

/** Says that the server listens. On a terminal it shows the first key, once; elsewhere the key would end in a log. */
export function announce(start: Start, firstKey: FirstKey | null, log: Log, out: Terminal): void {
  if (out.isTerminal) {
    out.write(welcome(start, firstKey?.key ?? null));
    firstKey?.shown();
    return;
  }
  if (start.leftOut.length > 0) log.info('providers left out', { providers: start.leftOut.join(', ') });
  log.info('listening', { address: start.address, providers: start.providers });
}
