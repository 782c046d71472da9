import { SignalboxError } from '../core/errors.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';

type Servers = Pick<PolicySnapshot, 'providers' | 'found'>;

/** How long a caller waits until model servers are polled again, ms. */
export const FIND_AGAIN_MS = 30_000;

const AND = new Intl.ListFormat('en-GB');

/** The model servers that have not answered since the start, and of which no earlier list is known. */
export const silentServers = ({ providers, found }: Servers): readonly string[] =>
  [...providers.values()].flatMap(({ name, discover }) =>
    discover && !found?.servers.some(({ provider }) => provider === name) ? [name] : [],
  );

/** Says that servers have not answered yet. @param names at least one */
export const silentText = (names: readonly string[]): string =>
  `${AND.format(names)} ${names.length === 1 ? 'has' : 'have'} not answered yet`;

/** Returns the error for a model of a server that has not answered yet, which may have this model; null for another name. */
export function notFoundYet(name: string, model: string, snapshot: Servers): SignalboxError | null {
  const silent = silentServers(snapshot).find((provider) => model.startsWith(`${provider}/`));
  if (silent === undefined) return null;
  const text = `\`${name}\` cannot be served yet: ${silentText([silent])}.`;
  return new SignalboxError('no_healthy_model', text, { retryAfterMs: FIND_AGAIN_MS, details: { unavailable: [] } });
}
