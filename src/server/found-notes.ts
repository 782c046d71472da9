import { servesChats } from '../core/kinds/operations.ts';
import type { Model, PolicySnapshot } from '../core/policy/snapshot.ts';
import { CAPABILITIES } from '../core/request/capability.ts';
import type { Log } from '../host/telemetry/log.ts';

/** The most models of a server that the start names. */
const SHOWN_MAX = 5;

/** Writes the models that were found at each server: `ollama: smol, 4,096 tokens, no tools`. */
export const foundNotes = ({ models }: Pick<PolicySnapshot, 'models'>): readonly string[] => {
  const byProvider = Map.groupBy(
    models.filter(({ found }) => found),
    ({ found }) => found!.provider,
  );
  return [...byProvider].map(([provider, all]) => {
    const shown = all.slice(0, SHOWN_MAX).map((model) => noteOf(model, provider));
    const more = all.length - shown.length;
    return `${provider}: ${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
  });
};

/** Returns a function that logs the found models that the policy did not have at its last call. @param first the policy of the start */
export function foundLogger(first: PolicySnapshot, log: Log): (snapshot: PolicySnapshot) => void {
  let known = idsOf(first);
  return (snapshot) => {
    const models = snapshot.models.filter(({ id }) => !known.has(id));
    known = idsOf(snapshot);
    logFound(foundNotes({ models }), log);
  };
}

/** Logs the models that were found, if there are any. */
export function logFound(notes: readonly string[], log: Log): void {
  if (notes.length > 0) log.info('models were found', { models: notes.join('; ') });
}

const idsOf = ({ models }: PolicySnapshot): ReadonlySet<string> => new Set(models.map(({ id }) => id));

function noteOf(model: Model, provider: string): string {
  const { id, contextWindow, capabilities, found } = model;
  const tokens = `${contextWindow.toLocaleString('en')} tokens${found?.isContextGuessed ? ' (a guess)' : ''}`;
  const tools = (capabilities & CAPABILITIES.tools.bit) === 0 ? 'no tools' : 'tools';
  return `${id.slice(provider.length + 1)}, ${tokens}, ${servesChats(model) ? tools : 'embeds'}`;
}
