import { checkCommand } from '../admin/use-cases/policy/folder-words.ts';
import { isLoopbackHost } from '../core/net/loopback.ts';
import { lacksIn } from '../core/policy/found-models.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { plural } from '../core/text/text.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { X402Gateway } from '../http/x402/services.ts';
import {
  type PolicyCandidate,
  type ServingProvider,
  servingProviders,
  servingText,
} from '../policy/runtime/candidate.ts';
import { listensHere } from '../providers/connection/listening.ts';
import type { PolicyOrigin } from '../store/instance-reports.ts';
import type { FirstKey } from './first-key.ts';
import { foundNotes, logFound } from './found-notes.ts';
import type { Host, Terminal } from './host.ts';

/** The facts of a server's start. */
interface Start {
  readonly address: string;
  /** Whether simulated models answer, because no provider is set up. */
  readonly simulated: boolean;
  readonly providers: readonly ServingProvider[];
  /** The models that were found: `ollama: smol, 4,096 tokens, no tools`. */
  readonly found: readonly string[];
  /** The models of the policy that their servers lack, and what to do: ``ollama has no `x`: `ollama pull x` ``. */
  readonly missing: readonly string[];
  /** Model servers on this machine that do not listen: `ollama at 127.0.0.1:11434`. */
  readonly silent: readonly string[];
  /** Names of the providers that are not set up on this server. */
  readonly leftOut: readonly string[];
  /** The database that several servers share; null for the database in the data folder. */
  readonly database: string | null;
  /** The address of the console and how to sign in, in words; null if the server does not serve the console. */
  readonly console: string | null;
  /** The path of the policy folder. */
  readonly policies: string;
  readonly policiesFrom: PolicyOrigin;
}

/**
 * The command that shows why each provider is not in use. The shipped policy names so many providers that the reasons of all of them would
 * hide the rest of the banner.
 */
const reasonsCommand = (policies: string): string => `${checkCommand(policies)} --all`;

/** Names the providers that are set up but serve no model, separated by commas; empty for none. */
const idleOf = (providers: readonly ServingProvider[]): string =>
  providers.flatMap(({ name, served }) => (served.length === 0 ? [name] : [])).join(', ');

/** Makes the banner for a new operator: the address, and a command that works when pasted. */
function welcome(
  { address, simulated, providers, silent, leftOut, database, policies, policiesFrom, ...start }: Start,
  key: string | null,
): string {
  // The header of the example request is in double quotes, so that the shell replaces the variable. A key has no character that the shell
  // would change.
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
      ? `  Models         simulated; for real models, set the key of a provider and restart: ${address}/docs/guide/start.md`
      : `  Models from    ${servingText(providers.filter(({ served }) => served.length > 0))}`,
    ...start.found.map((one) => `  Found          ${one}`),
    ...start.missing.map((one) => `  Missing        ${one}`),
    idle !== '' &&
      `  No model yet   ${idle}; Signalbox looks again every 30 seconds (${address}/docs/guide/policies/own-servers.md)`,
    silent.length > 0 && `  Not running    ${silent.join(', ')}; start it to use its models`,
    leftOut.length > 0 &&
      `  Not in use     ${plural(leftOut.length, 'provider')}; to see why, run: ${reasonsCommand(policies)}`,
    database !== null && `  Database       ${database}`,
    policiesFrom === 'files'
      ? `  Policy         ${policies}; edits take effect within a second`
      : `  Policy         as pushed to the database; its plugins are in ${policies}`,
    ...(key ? ['', '  Your API key. Save it now, because Signalbox does not show it again:', `  ${key}`] : []),
    '',
    key ? '  Try it:' : '  Try it, after you put an API key into the variable SIGNALBOX_KEY:',
    `  curl ${address}/v1/chat/completions -H "authorization: Bearer ${shown}" -H 'content-type: application/json' -d '${body}'`,
    '',
    '',
  ];
  return lines.filter((line) => line !== false).join('\n');
}

/**
 * Announces that the server listens. A terminal shows the first key, once. Without a terminal, Signalbox prints no banner, because the
 * first key would end up in a log: the first lines of the log say where the key and the console are.
 */
export function announce(start: Start, firstKey: FirstKey | null, log: Log, out: Terminal): void {
  if (out.isTerminal) {
    out.write(welcome(start, firstKey?.key ?? null));
    firstKey?.shown();
    return;
  }
  const { address, providers, leftOut, database, found, console, policies } = start;
  const place = { ...(console !== null && { console }), ...(database !== null && { database }) };
  log.info('listening', { address, ...place, policies, providers: servingText(providers) });
  const idle = idleOf(providers);
  if (idle)
    log.warn('providers without a model are not used: start the model server, or declare its models in the policy', {
      providers: idle,
    });
  logFound(found, log);
  if (leftOut.length > 0) {
    log.info('some providers are not used', { providers: leftOut.join(', '), reasons: reasonsCommand(policies) });
  }
}

const KEY_ENDING = /_API_KEY$/;

/**
 * Warns of each variable with the address of a provider that the policy does not use, although it uses the provider's key. SDKs read such
 * variables as `OPENAI_BASE_URL`; Signalbox reads only the variables that the policy names.
 * @param here the address of this server: clients on the same machine may have set the variable to it
 */
function warnOfUnusedAddresses(
  { providers }: Pick<PolicySnapshot, 'providers'>,
  env: (name: string) => string | undefined,
  here: string,
  log: Log,
): void {
  const used = new Set([...providers.values()].map(({ baseUrl }) => placeOf(baseUrl ?? undefined)));
  for (const { name, accounts } of providers.values()) {
    const key = accounts[0].apiKeyEnv;
    if (key === null || !KEY_ENDING.test(key)) continue;
    const variable = key.replace(KEY_ENDING, '_BASE_URL');
    const place = placeOf(env(variable));
    if (place === null || used.has(place) || place === placeOf(here)) continue;
    const write = `base_url_env: ${variable}`;
    log.warn('the policy does not use an address in the environment', { variable, provider: name, write });
  }
}

/** Returns the host and port of an address, the same for all names of this machine; null for no address. */
function placeOf(address: string | undefined): string | null {
  const url = URL.parse(address ?? '');
  if (url === null) return null;
  const isHere = isLoopbackHost(url.hostname) || url.hostname === '0.0.0.0' || url.hostname === '[::]';
  return `${url.protocol}//${isHere ? 'localhost' : url.hostname}:${url.port}`;
}

/** Logs settings that are probably mistakes. */
export function warnOfSetup(
  gateway: X402Gateway,
  { runtime }: PolicyCandidate,
  { env, address }: Pick<Host, 'env'> & { readonly address: string },
  log: Log,
): void {
  warnOfUnusedAddresses(runtime.snapshot, env, address, log);
  if (gateway.payments.policy && isSimulated(gateway))
    log.warn('payments are on, but only simulated models serve: no provider has a key');
}

/** The providers that answer, and those that do not. */
export async function whoAnswers({ runtime: { snapshot } }: PolicyCandidate, { isTerminal }: Terminal) {
  const leftOut = snapshot.leftOut.filter(({ kind, name }) => kind === 'provider' && !snapshot.providers.has(name));
  const providers = servingProviders(snapshot);
  // The server looks for silent model servers only with a terminal, where a person can start a missing model server at once.
  const silent = isTerminal ? await silentServers(providers, snapshot) : [];
  const notes = { found: foundNotes(snapshot), missing: lacksIn(snapshot) };
  return { providers, leftOut: leftOut.map(({ name }) => name), silent, ...notes };
}

/** Finds model servers on this machine that the policy uses and that do not listen: `ollama at 127.0.0.1:11434`. */
async function silentServers(serving: readonly ServingProvider[], { providers }: PolicySnapshot): Promise<string[]> {
  const found = serving.map(async ({ name, served }) => {
    const baseUrl = providers.get(name)?.baseUrl ?? null;
    const isOwn = providers.get(name)?.discover !== undefined;
    if ((served.length === 0 && !isOwn) || baseUrl === null || (await listensHere(baseUrl)) !== false) return [];
    return [`${name} at ${new URL(baseUrl).host}`];
  });
  return (await Promise.all(found)).flat();
}

/** Whether simulated models answer, because no provider is set up. */
export const isSimulated = ({ lease }: Gateway): boolean =>
  [...lease().snapshot.providers.values()].some(({ adapter }) => adapter === 'simulated');
